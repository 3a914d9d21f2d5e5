import type { Json } from '../values/json.ts';

/** A JSON Schema document (draft 2020-12 unless `$schema` says otherwise). */
export type JsonSchema = { readonly [key: string]: Json };

/** A Standard Schema with the JSON Schema extension (https://standardschema.dev); zod ≥ 4.2 schemas are such. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { target: 'draft-2020-12' }) => Record<string, unknown>;
      readonly output: (options: { target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What an `input` or `output` may be: a schema that knows its JSON Schema, one with the JSON Schema beside it, or a JSON Schema alone. */
export type SchemaLike<Output = unknown> =
  | StandardSchema<unknown, Output>
  | { readonly schema: StandardSchema<unknown, Output>; readonly jsonSchema: JsonSchema }
  | JsonSchema;

/** The type of what a schema gives; of a JSON Schema alone it is not known. */
export type InferOutput<S> =
  S extends StandardSchema<infer _I, infer O>
    ? O
    : S extends { readonly schema: StandardSchema<infer _I, infer O> }
      ? O
      : unknown;

/** The type of what a schema takes. */
export type InferInput<S> =
  S extends StandardSchema<infer I, infer _O>
    ? I
    : S extends { readonly schema: StandardSchema<infer I, infer _O> }
      ? I
      : unknown;

/** One mismatch. `path` reads `$.flags[0]`. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export type Validation<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** A schema as the rest of coxswain uses it. It converts once, when it is first asked. */
export interface Schema<T = unknown> {
  /** What a model is shown. Throws a ConfigurationError where the schema has no JSON Schema or its root is no object and one is needed. */
  readonly jsonSchema: JsonSchema;
  /** The form of what `validate` gives; undefined where it cannot be shown, after a transform. */
  readonly gives: JsonSchema | undefined;
  /** Synchronous. Refuses keys that the schema's output JSON Schema closes, then validates. */
  validate(value: unknown): Validation<T>;
}
