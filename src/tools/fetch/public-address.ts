type Addresses = typeof import('ipaddr.js');

/** The library that knows the special ranges; loaded when the first address is judged. */
export async function addressRanges(): Promise<Addresses> {
  const loaded = await import('ipaddr.js');
  return loaded.default ?? loaded;
}

/**
 * Whether an address belongs to the public internet. Everything else is refused: loopback, private and link-local ranges,
 * the unspecified address, carrier-grade and benchmark nets, and IPv6 forms that hold an IPv4 address (mapped, NAT64, 6to4,
 * Teredo), which connect to that address.
 */
export function isPublic(ipaddr: Addresses, text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  // Of IPv6 only 2000::/3 is given out as global unicast (RFC 4291).
  const [first = 0] = address.toByteArray();
  return address.kind() === 'ipv4' || first >> 5 === 1;
}
