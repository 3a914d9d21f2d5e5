/** A text without the given secrets and without anything that looks like a key. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let redacted = text;
  for (const secret of secrets) if (secret.length >= 4) redacted = redacted.replaceAll(secret, '[redacted]');
  return redacted
    .replace(/\b(sk|pk|rk|key|xai|gsk)-[\w*.-]{4,}/gi, '[redacted]')
    .replace(/Bearer\s+[^\s"']+/gi, '[redacted]');
}

/** An address without its secrets: user, password, and every parameter of its query except the API's version. */
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
