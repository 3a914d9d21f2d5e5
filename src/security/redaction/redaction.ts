import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { checkOptions, checkText, shown } from '../../core/values/options.ts';
import { PERSONAL, PERSONAL_NUMBERS, type PersonalKind } from './personal-numbers.ts';
import { isSecretName, REDACTED, redact } from './secrets.ts';

/** Options of {@link redaction}; secrets of known forms are always redacted. */
export interface RedactionOptions {
  /** Texts that are secret whatever they look like, also in percent-encoding, base64 and JSON. At least four characters each. */
  readonly secrets?: readonly string[] | undefined;
  /** Numbers of people and accounts, by their form and check digits. */
  readonly personal?: 'all' | readonly PersonalKind[] | undefined;
  /** Your own patterns, by the name of their placeholder. Keep every repetition bounded, since their time is not limited. */
  readonly patterns?: { readonly [name: string]: RegExp } | undefined;
  /** Names of fields whose values are always secret, in any letter case. */
  readonly fields?: readonly string[] | undefined;
  /**
   * Makes the placeholders of equal values equal in every process. Default random: equal within this one. Without it a resume
   * gives a model other placeholders than before.
   */
  readonly key?: string | undefined;
}

/** Takes secrets out of what leaves. Given to a log, to spans, or to a run. */
export interface Redaction {
  /** The text without them: `[redacted]`, or `[phone:3fa9c2e1]`, where the same value has the same sign. */
  text(text: string): string;
  /** The value with all its texts so, and those under secret names as a whole. */
  json(value: Json): Json;
  /** One more secret. */
  add(secret: string): void;
}

const OPTIONS = ['secrets', 'personal', 'patterns', 'fields', 'key'];
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** JSON in texts is parsed to this depth; deeper, fields are only found by the known names. */
const MAX_DEPTH = 4;
const MAX_KNOWN = 1_000;

/**
 * A redaction for `jsonlLog`, `otel` and the run itself (`redaction` of its options: then models and workers receive placeholders
 * too).
 *
 * @throws ConfigurationError that names the option.
 * @example
 * const privacy = redaction({ secrets: [process.env.DB_PASSWORD ?? ''], personal: ['phone', 'iban'], patterns: { customer: /\bC-\d{6}\b/ } });
 * startRun(agent, input, { redaction: privacy, views: [jsonlLog('run.jsonl', { content: 'redacted', redaction: privacy })] });
 */
export function redaction(options: RedactionOptions = {}): Redaction {
  checkOptions('redaction', options, OPTIONS);
  return new TextRedaction(options);
}

class TextRedaction implements Redaction {
  readonly #secrets = new Set<string>();
  readonly #forms: readonly Form[];
  readonly #fields: ReadonlySet<string>;
  readonly #key: string | Uint8Array;
  /** The latest placeholders, since a text tends to repeat its values. */
  readonly #placeholders = new Map<string, string>();
  readonly #crypto = process.getBuiltinModule('node:crypto');

  constructor({ secrets = [], personal = [], patterns = {}, fields = [], key }: RedactionOptions) {
    if (key !== undefined) checkText('redaction.key', key, 'Give a text that is kept like a password.');
    this.#key = key ?? this.#crypto.randomBytes(32);
    for (const secret of list('redaction.secrets', secrets)) this.add(secret);
    this.#fields = new Set(list('redaction.fields', fields).map((name) => name.toLowerCase()));
    this.#forms = [...personalForms(personal), ...ownForms(patterns)];
  }

  add(secret: string): void {
    if (typeof secret !== 'string' || secret.length < 4)
      throw new ConfigurationError('redaction.secrets', 'a secret has less than four characters', 'Leave it out.');
    for (const form of textForms(secret)) this.#secrets.add(form);
  }

  text(text: string): string {
    return this.#text(text, 0);
  }

  json(value: Json): Json {
    return this.#json(value, 0);
  }

  #text(text: string, depth: number): string {
    const inner = this.#fields.size > 0 && depth < MAX_DEPTH ? this.#innerJson(text, depth) : undefined;
    let out = inner ?? text;
    for (const secret of this.#secrets) if (out.includes(secret)) out = out.replaceAll(secret, REDACTED);
    out = redact(out);
    for (const form of this.#forms) out = this.#withoutForm(out, form);
    return out;
  }

  /** A text that is itself JSON, such as the arguments of a call; undefined where nothing in it changes. */
  #innerJson(text: string, depth: number): string | undefined {
    if (!/^\s*[[{]/.test(text)) return undefined;
    let value: Json;
    try {
      value = JSON.parse(text) as Json;
    } catch {
      return undefined;
    }
    const clean = JSON.stringify(this.#json(value, depth + 1));
    return clean === JSON.stringify(value) ? undefined : clean;
  }

  #json(value: Json, depth: number, under?: string): Json {
    if (typeof value === 'string') return this.#text(value, depth);
    if (Array.isArray(value)) return value.map((item) => this.#json(item, depth));
    if (!isPlainObject(value)) return value;
    const members = Object.entries(value).map(([name, item]) => {
      const clean = this.#isSecret(name, item, under) ? REDACTED : this.#json(item as Json, depth, name);
      return [this.#text(name, MAX_DEPTH), clean];
    });
    return Object.fromEntries(members);
  }

  #isSecret(name: string, value: unknown, under: string | undefined): boolean {
    if (isSecretName(name) && typeof value === 'string') return true;
    // A schema that describes the field is no value of it.
    const isDescribed = under === 'properties' && isPlainObject(value);
    return this.#fields.has(name.toLowerCase()) && value !== null && !isDescribed;
  }

  /** A match with wrong check digits must not hide a number that begins inside of it: the search continues after its first blank. */
  #withoutForm(text: string, { name, form, valid }: Form): string {
    let out = '';
    let at = 0;
    form.lastIndex = 0;
    for (let match = form.exec(text); match !== null; match = form.exec(text)) {
      const [found] = match;
      const part = valid(found);
      if (part === undefined) {
        const gap = found.search(/[^\p{L}\p{N}]/u);
        form.lastIndex = match.index + (gap < 1 ? found.length : gap + 1);
        continue;
      }
      out += text.slice(at, match.index) + this.#placeholder(name, part);
      at = match.index + part.length;
      form.lastIndex = at;
    }
    return out + text.slice(at);
  }

  #placeholder(name: string, found: string): string {
    const plain = `${name}|${found.replace(GAPS, '')}`;
    const known = this.#placeholders.get(plain);
    if (known !== undefined) return known;
    const made = `[${name}:${this.#crypto.createHmac('sha256', this.#key).update(plain).digest('hex').slice(0, 8)}]`;
    if (this.#placeholders.size >= MAX_KNOWN) this.#placeholders.clear();
    this.#placeholders.set(plain, made);
    return made;
  }
}

/** How something is found, and how much of what was found it is. */
interface Form {
  readonly name: string;
  readonly form: RegExp;
  valid(found: string): string | undefined;
}

function personalForms(personal: unknown): readonly Form[] {
  const kinds = personal === 'all' ? PERSONAL : list('redaction.personal', personal);
  return kinds.map((kind) => {
    const known = PERSONAL.find((one) => one === kind);
    if (known === undefined)
      throw new ConfigurationError(
        'redaction.personal',
        `${shown(kind)} is not known`,
        `Write 'all', or some of ${PERSONAL.join(', ')}.`,
      );
    const { form, isValid } = PERSONAL_NUMBERS[known];
    return { name: known, form: form(), valid: (found) => longestValid(found, isValid) };
  });
}

/** A form may take up words that follow: the longest part up to a gap that is valid. */
function longestValid(found: string, isValid: (number: string) => boolean): string | undefined {
  let plain = found.replace(GAPS, '');
  for (let end = found.length; plain !== ''; ) {
    if (isValid(plain)) return found.slice(0, end);
    let letters = 0;
    while (end > 0 && !isGap(found.charCodeAt(end - 1))) {
      end -= 1;
      letters += 1;
    }
    while (end > 0 && isGap(found.charCodeAt(end - 1))) end -= 1;
    plain = plain.slice(0, plain.length - letters);
  }
  return undefined;
}

/** Separators between the digits of a number: ` ()+-./`. */
const GAPS = /[ ()+./-]/g;

function isGap(code: number): boolean {
  return code === 32 || (code >= 40 && code <= 47);
}

function ownForms(patterns: unknown): readonly Form[] {
  if (!isPlainObject(patterns))
    throw new ConfigurationError(
      'redaction.patterns',
      `got ${shown(patterns)}`,
      'Name each: { customer: /C-\\d{6}/ }.',
    );
  return Object.entries(patterns).map(([name, pattern]) => {
    const field = `redaction.patterns.${name}`;
    if (!NAME.test(name)) throw new ConfigurationError(field, 'illegal name', `A name matches ${NAME.source}.`);
    if (!(pattern instanceof RegExp) || pattern.sticky)
      throw new ConfigurationError(field, `got ${shown(pattern)}`, 'Give a RegExp without the flag y.');
    if (new RegExp(pattern).test(''))
      throw new ConfigurationError(field, 'fits the empty text', 'Let it ask for at least one character.');
    const form = new RegExp(pattern.source, pattern.flags.includes('g') ? pattern.flags : `${pattern.flags}g`);
    return { name, form, valid: (found) => (found === '' ? undefined : found) };
  });
}

function list(field: string, given: unknown): readonly string[] {
  if (Array.isArray(given) && given.every((item) => typeof item === 'string')) return given;
  throw new ConfigurationError(field, `expected an array of texts, got ${shown(given)}`, 'List them.');
}

/** A text in the forms in which it is sent and written elsewhere: as it is, percent-encoded, as form data, in JSON, in base64. */
export function textForms(text: string): ReadonlySet<string> {
  const encoded = encodeURIComponent(text.toWellFormed());
  const bytes = Buffer.from(text, 'utf8');
  const inJson = JSON.stringify(text).slice(1, -1);
  const forms = [
    ...[text, encoded, encoded.replaceAll('%20', '+'), lowerEscapes(encoded), strictEscapes(encoded)],
    ...[inJson, JSON.stringify(inJson).slice(1, -1)],
    ...[bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')],
  ];
  return new Set(forms.filter((form) => form.length >= 4));
}

function lowerEscapes(encoded: string): string {
  return encoded.replace(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase());
}

/** As RFC 3986 has it, also what `encodeURIComponent` leaves. */
function strictEscapes(encoded: string): string {
  return encoded.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
