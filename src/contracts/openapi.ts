import type { ZodType } from 'zod'

/** One operation of the OpenAPI document, as it appears under its path and method. */
export interface OpenApiOperation {
  readonly operation: { readonly summary: string; readonly [member: string]: unknown }
  /** The schemas that it refers to as `#/components/schemas/NAME`. */
  readonly schemas: Readonly<Record<string, ZodType>>
}
