/** Why a model call gave no turn, whatever the provider calls it. */
export type ModelErrorKind = keyof typeof MODEL_ERRORS;

interface ModelErrorFacts {
  /** Whether the same call may succeed a moment later. */
  readonly retryable: boolean;
  /**
   * Whether another model may do better: the key, the model, the provider or the connection failed. Where the request itself is wrong or its
   * content was refused, another model must not be asked.
   */
  readonly fallsBack: boolean;
  /** Whether the provider asks everyone who uses it to wait. */
  readonly closesGate: boolean;
}

const OF_REQUEST: ModelErrorFacts = { retryable: false, fallsBack: false, closesGate: false };
const OF_MODEL: ModelErrorFacts = { retryable: false, fallsBack: true, closesGate: false };
const OF_MOMENT: ModelErrorFacts = { retryable: true, fallsBack: true, closesGate: false };

const MODEL_ERRORS = {
  auth: OF_MODEL,
  permission: OF_MODEL,
  not_found: OF_MODEL,
  invalid_request: OF_REQUEST,
  request_too_large: OF_REQUEST,
  quota: OF_MODEL,
  context_length: OF_REQUEST,
  rate_limit: { ...OF_MOMENT, closesGate: true },
  overloaded: { ...OF_MOMENT, closesGate: true },
  server_error: OF_MOMENT,
  network: OF_MOMENT,
  timeout: OF_MOMENT,
  output_truncated: OF_REQUEST,
  content_filter: OF_REQUEST,
  refusal: OF_REQUEST,
  malformed_response: OF_MODEL,
  empty_response: OF_MODEL,
  unknown: OF_MODEL,
} satisfies Record<string, ModelErrorFacts>;

/** What follows from the kind of a model's error; of any other kind, undefined. */
export function modelErrorFacts(kind: string): ModelErrorFacts | undefined {
  return Object.hasOwn(MODEL_ERRORS, kind) ? MODEL_ERRORS[kind as ModelErrorKind] : undefined;
}
