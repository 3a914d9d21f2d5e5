/** A provider's data before any check: every field may be anything. */
export type BodyFields = { readonly [name: string]: unknown };

const NONE: BodyFields = Object.freeze({});

/** The fields of an object; none where the value is no object. */
export function bodyFields(value: unknown): BodyFields {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as BodyFields) : NONE;
}

/** The text, where it is one and not empty. */
export function textField(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function listField(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A count of tokens: whole and not negative, else it is unknown. */
export function countField(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
