/** Text with the encoding of its file, so that it can be written back in the same way. */
export interface FileText {
  readonly text: string;
  readonly encoding: Encoding;
}
type Encoding = 'UTF-8' | 'UTF-8 with a byte order mark' | 'UTF-16LE' | 'UTF-16BE';

/**
 * The text of a file in UTF-8, or in UTF-16 with its mark; undefined for everything else: a guess would be shown as a fact,
 * and written back as another file.
 *
 * @param isTruncated whether the bytes end where the reading stopped, perhaps inside a character.
 */
export function readText(bytes: Uint8Array, isTruncated: boolean): FileText | undefined {
  const [encoding, start] = markOf(bytes);
  const label = encoding === 'UTF-16LE' ? 'utf-16le' : encoding === 'UTF-16BE' ? 'utf-16be' : 'utf-8';
  const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true });
  try {
    const text = decoder.decode(bytes.subarray(start), { stream: isTruncated });
    return text.includes('\0') ? undefined : { text, encoding };
  } catch {
    return undefined;
  }
}

/** Text as the bytes of a file. */
export function writeText({ text, encoding }: FileText): Buffer {
  switch (encoding) {
    case 'UTF-8':
      return Buffer.from(text, 'utf8');
    case 'UTF-8 with a byte order mark':
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text, 'utf8')]);
    case 'UTF-16LE':
      return Buffer.from(`\uFEFF${text}`, 'utf16le');
    case 'UTF-16BE':
      return Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();
  }
}

/** How many bytes a text takes in a file, without the file's mark. */
export function sizeOf(text: string, encoding: Encoding): number {
  return encoding.startsWith('UTF-16') ? text.length * 2 : Buffer.byteLength(text, 'utf8');
}

function markOf(bytes: Uint8Array): [encoding: Encoding, start: number] {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return ['UTF-8 with a byte order mark', 3];
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return ['UTF-16LE', 2];
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return ['UTF-16BE', 2];
  return ['UTF-8', 0];
}
