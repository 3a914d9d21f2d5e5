/**
 * The response behind what an SDK's `create` gives, before the SDK reads its body: then an answer is read once, by {@link readAnswer}.
 * What has no such response (a stand-in for a client), or one in a form of its own (Bedrock's), is left to the client.
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

/** By shape: a client may bring a `fetch` of its own. */
export function isResponse(answer: unknown): answer is Response {
  if (answer === null || typeof answer !== 'object' || !('body' in answer) || !('headers' in answer)) return false;
  const { body, headers } = answer;
  const canBeRead = body === null || (typeof body === 'object' && 'getReader' in body);
  return canBeRead && headers !== null && typeof headers === 'object' && 'get' in headers && 'status' in answer;
}
