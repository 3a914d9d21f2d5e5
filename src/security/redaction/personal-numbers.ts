/**
 * Numbers that identify a person or an account: texts in their form with the right check digits. The rules are the issuers' own;
 * a number without check digits (`phone`, `us-ssn`) is recognised by its form alone.
 */
export const PERSONAL = [
  ...['phone', 'card', 'iban', 'be-nn', 'br-cpf', 'de-tax', 'es-dni', 'fr-nir', 'in-aadhaar', 'it-cf'],
  ...['nl-bsn', 'pl-pesel', 'se-pnr', 'uk-nhs', 'us-ssn'],
] as const;

export type PersonalKind =
  | ('phone' | 'card' | 'iban' | 'be-nn' | 'br-cpf' | 'de-tax' | 'es-dni' | 'fr-nir' | 'in-aadhaar' | 'it-cf')
  | ('nl-bsn' | 'pl-pesel' | 'se-pnr' | 'uk-nhs' | 'us-ssn');

/** How a kind is found: `form` is bounded in every repetition, so a text is looked through in linear time. */
export interface PersonalNumber {
  readonly form: () => RegExp;
  /** Of the letters and digits alone. */
  isValid(number: string): boolean;
}

/** A form with edges: no letter or digit on either side. Compiled on first use, since most importers never use it. */
const edged = (source: string) => () => new RegExp(`(?<![\\p{L}\\p{N}_])(?:${source})(?![\\p{L}\\p{N}_])`, 'gu');

export const PERSONAL_NUMBERS: { readonly [kind in PersonalKind]: PersonalNumber } = {
  // E.164: a country's code and up to 15 digits in all.
  phone: {
    form: () => /(?<![\p{L}\p{N}+])(?:\+|00)[1-9](?:[ ()./-]{0,2}\d){6,14}(?![\p{L}\p{N}_])/gu,
    isValid: (digits) => /^(?:00)?\d{7,15}$/.test(digits),
  },
  card: { form: edged(String.raw`[2-6](?:[ -]?\d){12,18}`), isValid: (digits) => digits.length >= 13 && luhn(digits) },
  iban: { form: edged(String.raw`[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,8}`), isValid: iban },
  'be-nn': {
    form: edged(String.raw`\d{2}\.?\d{2}\.?\d{2}-?\d{3}\.?\d{2}`),
    isValid: (n) =>
      [n.slice(0, 9), `2${n.slice(0, 9)}`].some((body) => 97 - (Number(body) % 97) === Number(n.slice(9))),
  },
  'br-cpf': {
    form: edged(String.raw`\d{3}\.?\d{3}\.?\d{3}-?\d{2}`),
    isValid: (n) =>
      !/^(\d)\1*$/.test(n) &&
      [9, 10].every((length) => ((weighted(n, down(length + 1, length)) * 10) % 11) % 10 === Number(n[length])),
  },
  'de-tax': { form: edged(String.raw`[1-9]\d ?\d{3} ?\d{3} ?\d{3}`), isValid: (n) => n.length === 11 && mod1110(n) },
  'es-dni': {
    form: edged(String.raw`(?:\d{8}|[XYZ]\d{7})-?[A-Z]`),
    isValid: (n) =>
      'TRWAGMYFPDXBNJZSQVHLCKE'[
        Number(n.slice(0, -1).replace(/^[XYZ]/, (sign) => String('XYZ'.indexOf(sign)))) % 23
      ] === n.at(-1),
  },
  'fr-nir': {
    form: edged(String.raw`[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}`),
    isValid: (n) => 97 - (Number(n.slice(0, 13).replace('2A', '19').replace('2B', '18')) % 97) === Number(n.slice(13)),
  },
  'in-aadhaar': {
    form: edged(String.raw`[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}`),
    isValid: (n) => n.length === 12 && verhoeff(n),
  },
  'it-cf': { form: edged(String.raw`[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]`), isValid: codiceFiscale },
  'nl-bsn': {
    form: edged(String.raw`\d{4}[. ]?\d{2}[. ]?\d{3}`),
    isValid: (n) => n !== '000000000' && (weighted(n, down(9, 8)) - Number(n[8])) % 11 === 0,
  },
  'pl-pesel': {
    form: edged(String.raw`\d{2}(?:[02468][1-9]|[13579][0-2])(?:0[1-9]|[12]\d|3[01])\d{5}`),
    isValid: (n) => (10 - (weighted(n, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10 === Number(n[10]),
  },
  'se-pnr': {
    form: edged(String.raw`(?:19|20)?\d{2}(?:0[1-9]|1[0-2])(?:[0-2][1-9]|[1-3]0|31|[6-8]\d|9[01])[-+]?\d{4}`),
    isValid: (n) => n.length >= 10 && luhn(n.slice(-10)),
  },
  'uk-nhs': {
    form: edged(String.raw`\d{3}[ -]?\d{3}[ -]?\d{4}`),
    isValid: (n) => (11 - (weighted(n, down(10, 9)) % 11)) % 11 === Number(n[9]),
  },
  'us-ssn': {
    form: edged(String.raw`(?!000|666)[0-8]\d{2}-(?!00)\d{2}-(?!0000)\d{4}`),
    isValid: (n) => n.length === 9,
  },
};

function down(from: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => from - index);
}

function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, index) => sum + weight * Number(digits[index]), 0);
}

/** ISO/IEC 7812. */
function luhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48;
    sum += index % 2 === 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0);
  }
  return sum % 10 === 0;
}

/** Of the registry, by country. */
const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 ' +
    'GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 ' +
    'MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 ' +
    'UA29 VA22 VG24 XK20'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** ISO 13616: the remainder by 97 is 1, letters counted as 10 to 35. */
function iban(text: string): boolean {
  if (IBAN_LENGTHS.get(text.slice(0, 2)) !== text.length) return false;
  let remainder = 0;
  for (const char of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(char, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}

/** ISO 7064, MOD 11,10. */
function mod1110(digits: string): boolean {
  let product = 10;
  for (const digit of digits.slice(0, -1)) {
    const sum = (Number(digit) + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  return (11 - product) % 10 === Number(digits.at(-1));
}

/** Verhoeff 1969: the multiplication of the dihedral group of order 10, and its permutation. */
const TIMES = '0123456789123406789523401789563401289567401239567859876043216598710432765982104387659321049876543210';
const TURN = '01234567891576283094580379614289160435279453126870428657390127938064157046913258';

function verhoeff(digits: string): boolean {
  let check = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48;
    const turned = TURN.charCodeAt((index % 8) * 10 + digit) - 48;
    check = TIMES.charCodeAt(check * 10 + turned) - 48;
  }
  return check === 0;
}

/** Values of the characters at odd positions, 0-9 as A-J. */
const ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

function codiceFiscale(text: string): boolean {
  let sum = 0;
  for (let index = 0; index < 15; index += 1) {
    const char = Number.parseInt(text[index] as string, 36);
    const value = char > 9 ? char - 10 : char;
    sum += index % 2 === 0 ? (ODD[value] as number) : value;
  }
  return text[15] === String.fromCharCode(65 + (sum % 26));
}
