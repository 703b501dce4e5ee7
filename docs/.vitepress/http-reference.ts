import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createCompatRouter,
  generateEnvelopeKey,
  keyring,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
} from '../../src/index.js'
import { slug } from './slug.js'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly description?: string
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Returns the document of a router that has every endpoint, as the router serves it. */
export async function openApiDocument(): Promise<OpenApiDocument> {
  const router = createCompatRouter({
    credentials: memoryCredentials({}),
    catalogue: memoryCatalogue([]),
    ledger: memoryLedger({}),
    providers: memoryProviders([]),
    envelopes: keyring([await generateEnvelopeKey('docs')]),
  })
  const server = createServer((req, res) => router(req, res))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const document = (await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json()) as OpenApiDocument
  await router.close()
  server.close()
  return document
}

/** Returns the names of all endpoints, such as `GET /models`. */
export function endpointsOf({ paths }: OpenApiDocument): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
}

/** Returns the page of all endpoints and their schemas, with a request and a reply of each. */
export function httpReference(
  { paths, components }: OpenApiDocument,
  examples: ReadonlyMap<string, string>,
): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      endpointSection(`${method.toUpperCase()} ${path}`, operation, examples),
    ),
  )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `### ${name}\n\n${schemaText(schema)}`,
  )
  return `# HTTP endpoints and schemas

Made from the OpenAPI document that the router serves at \`GET /openapi.json\`. [HTTP API](./http-api.md) explains them. The document as a file: <a href="/openapi.json" target="_self">openapi.json</a>.

${operations.join('\n\n')}

## Schemas

${schemas.join('\n\n')}
`
}

function endpointSection(
  name: string,
  { description, parameters, requestBody, responses, summary }: Operation,
  examples: ReadonlyMap<string, string>,
): string {
  const parts = [
    `## ${name}`,
    [summary, description]
      .filter(Boolean)
      .map((text) => escaped(text!))
      .join('. '),
  ]
  if (parameters !== undefined && parameters.length > 0) {
    const rows = parameters.map(({ name, in: where, required, description, schema }) =>
      row(
        code(name),
        where,
        typeOf(schema),
        `${required === true ? 'Required. ' : ''}${escaped(description ?? '')}`,
      ),
    )
    parts.push([row('parameter', 'in', 'type', ''), row('---', '---', '---', '---'), ...rows].join('\n'))
  }
  if (requestBody !== undefined) parts.push(`Body: ${contentOf(requestBody.content)}`)
  const rows = Object.entries(responses).map(([status, { content, description }]) =>
    row(
      status,
      status === '200' && content !== undefined
        ? `${escaped(description)} ${contentOf(content)}`
        : escaped(description),
    ),
  )
  parts.push([row('status', ''), row('---', '---'), ...rows].join('\n'))
  parts.push(examples.get(name) ?? '')
  return parts.filter((part) => part !== '').join('\n\n')
}

const contentOf = (content: Content) =>
  Object.entries(content)
    .map(([type, { schema }]) => `\`${type}\` ${typeOf(schema)}`)
    .join('; ')

function schemaText(schema: Schema): string {
  const lead = schema.description === undefined ? '' : `${escaped(schema.description)}\n\n`
  const { properties, required = [] } = schema
  if (properties === undefined) return lead + typeOf(schema)
  const rows = Object.entries(properties).map(([name, property]) =>
    row(
      code(name),
      typeOf(property),
      `${required.includes(name) ? 'Required. ' : ''}${escaped(property.description ?? '')}`,
    ),
  )
  return lead + [row('field', 'type', ''), row('---', '---', '---'), ...rows].join('\n')
}

/** A type in a few words. Members of inner objects are in the document itself. */
function typeOf(schema: Schema): string {
  const { $ref, anyOf, oneOf, allOf, const: value, enum: values, items, type } = schema
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)!
    return `[${name}](#${slug(name)})`
  }
  if (value !== undefined) return code(JSON.stringify(value))
  if (values !== undefined) return values.map((item) => code(JSON.stringify(item))).join(', ')
  const choices = anyOf ?? oneOf ?? allOf
  if (choices !== undefined)
    return [...new Set(choices.map(typeOf))].join(allOf === undefined ? ' or ' : ' and ')
  if (type === 'array') return items === undefined ? 'list' : `list of ${typeOf(items)}`
  if (typeof type === 'string') return type
  return type === undefined ? 'any' : type.join(' or ')
}

const code = (text: string) => `\`${text}\``
const row = (...cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const escaped = (text: string) =>
  text
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '&#123;&#123;')
