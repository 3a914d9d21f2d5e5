const { then } = Promise.prototype;

/** What `read` makes of a promise's value. Never by the promise's own `then`: whose it is may give anything from that. */
export function after<T, R>(value: T | PromiseLike<T>, read: (value: T) => R): Promise<R> {
  return then.call(Promise.resolve(value), read as never) as Promise<R>;
}
