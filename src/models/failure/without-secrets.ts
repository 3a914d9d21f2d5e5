/** A text without the secrets that are known, and without anything that looks like a key. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) if (secret.length >= 4) shown = shown.replaceAll(secret, '[redacted]');
  return shown
    .replace(/\b(sk|pk|rk|key|xai|gsk)-[\w*.-]{4,}/gi, '[redacted]')
    .replace(/Bearer\s+[^\s"']+/gi, '[redacted]');
}

/** An address without what stands in it as a secret: user, password, and every parameter of its query but the API's version. */
export function textOfUrl(input: string | URL | Request, secrets: readonly string[]): string {
  const url = URL.parse(input instanceof Request ? input.url : String(input));
  if (url === null) return '[no address]';
  if (url.username !== '' || url.password !== '') {
    url.username = '';
    url.password = '';
  }
  for (const name of [...url.searchParams.keys()]) {
    if (name !== 'api-version') url.searchParams.set(name, '[redacted]');
  }
  return withoutSecrets(url.href, secrets);
}
