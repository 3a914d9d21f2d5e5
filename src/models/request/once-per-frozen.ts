/** Computes a value once for each frozen object, which never changes. For other objects it is computed each time. */
export function oncePerFrozen<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const cache = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const before = cache.get(key);
    if (before !== undefined) return before.value;
    const value = make(key);
    if (Object.isFrozen(key)) cache.set(key, { value });
    return value;
  };
}
