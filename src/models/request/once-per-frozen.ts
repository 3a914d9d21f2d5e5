/** Works a thing out once for each frozen object: what is frozen never changes. For others it is worked out each time. */
export function oncePerFrozen<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before.value;
    const value = make(key);
    if (Object.isFrozen(key)) known.set(key, { value });
    return value;
  };
}
