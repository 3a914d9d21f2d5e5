/** The placeholder of a secret. */
export const REDACTED = '[redacted]';

// A key starts at the edge of a run of its own letters, so no text is scanned twice; `\n` and other JSON escapes are edges too.
const EDGE = String.raw`(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))`;

const KEYS = new RegExp(
  EDGE +
    String.raw`(?:sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|A(?:KIA|SIA)[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)`,
  'g',
);
const BEARER = /\b(bearer\s{1,8})(?=[A-Za-z]{0,256}[\d._~+/=-])[A-Za-z0-9._~+/=-]{8,}/gi;
const BASIC = /\b(authorization["']?\s{0,8}[:=]\s{0,8}["']?basic\s{1,8})[A-Za-z0-9+/=_-]{4,}/gi;
const NAMED =
  /((?:api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?key|password|passwd)\\{0,8}["']?\s{0,8}[:=]\s{0,8}\\{0,8}["']?)[^\s"'\\,;&]{6,}/gi;
const IN_URL = /(?<=:\/\/)[^\s/@:"\\]{0,256}:[^\s/@"\\]{1,1024}(?=@)/g;
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----(?:(?:\s|\\[rn]){1,4}(?:Proc-Type|DEK-Info):[^\r\n\\]{0,99}){0,4}[A-Za-z0-9+/=\\\s]{0,16384}(?:-----END [A-Z ]{0,32}PRIVATE KEY-----)?/g;

const SECRET_NAME =
  /^(?:(?:proxy-)?authorization|cookie|set-cookie|(?:x[_-])?api[_-]?key|(?:access|auth|refresh)[_-]?token|client[_-]?secret|secret[_-]?key|private[_-]?key|password|passwd)$/i;

// One cheap test whether any pattern can match, since most texts have no secret.
const HINT =
  /sk-|k_live_|k_test_|gh[pousr]_|github_pat_|glpat-|xox|AKIA|ASIA|AIza|hf_|npm_|eyJ|bearer|basic|key|token|secret|passw|:\/\/|PRIVATE/i;

/**
 * A text without its secrets: API keys of known forms, bearer and basic credentials, named keys and passwords,
 * credentials in URLs, private keys. Linear in the text's length.
 */
export function redact(text: string): string {
  if (!HINT.test(text)) return text;
  return text
    .replace(PRIVATE_KEY, REDACTED)
    .replace(KEYS, REDACTED)
    .replace(BEARER, `$1${REDACTED}`)
    .replace(BASIC, `$1${REDACTED}`)
    .replace(NAMED, `$1${REDACTED}`)
    .replace(IN_URL, REDACTED);
}

/** Whether the value of a field with this name is always secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** A replacer for `JSON.stringify`: redacts each text, and completely the text of a field such as `password`. */
export function redactor(name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'string') return value;
  return isSecretName(name) ? REDACTED : redact(value);
}
