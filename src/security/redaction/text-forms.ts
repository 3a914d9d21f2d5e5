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
