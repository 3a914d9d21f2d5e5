/** A point of a run: a record by its number, or an address. */
export function pointOf(text: string): { readonly record: number } | { readonly key: string } {
  return /^\d+$/.test(text) ? { record: Number(text) } : { key: text };
}
