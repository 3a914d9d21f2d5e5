const { NODE_COMPILE_CACHE } = process.env;

/** For a process that a test starts with variables of its own: where it finds what was compiled before. */
export const compiled: { readonly [name: string]: string } =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
