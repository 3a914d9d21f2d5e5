/**
 * The response of an SDK's `create` before the SDK reads its body, so that the answer is read once, by {@link readAnswer}. A client
 * without such a response (a test double), or with a different form (Bedrock's), reads the answer itself.
 */
export function rawAnswer(created: unknown): Promise<unknown> {
  if (created === null || typeof created !== 'object' || !('asResponse' in created)) return Promise.resolve(created);
  if (typeof created.asResponse !== 'function') return Promise.resolve(created);
  const sent: unknown = created.asResponse();
  return Promise.resolve(sent).then((response) => (isResponse(response) && isReadable(response) ? response : created));
}

function isReadable({ headers }: Response): boolean {
  return !OWN_FORMS.test(headers.get('content-type') ?? '');
}

const OWN_FORMS = /amazon\.eventstream/i;

/** Checked by shape: a client may have its own `fetch`. */
export function isResponse(answer: unknown): answer is Response {
  if (answer === null || typeof answer !== 'object' || !('body' in answer) || !('headers' in answer)) return false;
  const { body, headers } = answer;
  const canBeRead = body === null || (typeof body === 'object' && 'getReader' in body);
  return canBeRead && headers !== null && typeof headers === 'object' && 'get' in headers && 'status' in answer;
}
