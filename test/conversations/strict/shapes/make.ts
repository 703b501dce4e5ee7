import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import type { Shape, Shapes } from '../shape.js'

const require = createRequire(import.meta.url)

/** The types that say what a request may be, by the file of the library that declares them. */
export const SOURCES = {
  openai: {
    chat: ['openai/resources/chat/completions/completions', 'ChatCompletionCreateParamsBase'],
    responses: ['openai/resources/responses/responses', 'ResponseCreateParamsBase'],
  },
  anthropic: {
    messages: ['@anthropic-ai/sdk/resources/messages/messages', 'MessageCreateParamsBase'],
    count: ['@anthropic-ai/sdk/resources/messages/messages', 'MessageCountTokensParams'],
    beta: ['@anthropic-ai/sdk/resources/beta/messages/messages', 'MessageCreateParamsBase'],
    betaCount: ['@anthropic-ai/sdk/resources/beta/messages/messages', 'MessageCountTokensParams'],
  },
} as const

/**
 * What the types of a client library allow, as data. The vendors make these types from the published schemas of
 * their APIs.
 */
export function shapesOf(sources: Readonly<Record<string, readonly [path: string, type: string]>>): Shapes {
  const files = Object.values(sources).map(([path]) => require.resolve(path).replace(/\.js$/, '.d.ts'))
  const program = ts.createProgram([...new Set(files)], {
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    // Without the types of browsers, which take longest to read.
    lib: ['lib.es2022.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  })
  const reader = new TypeReader(program.getTypeChecker())
  const roots: Record<string, Shape> = {}
  for (const [n, [name, [, type]]] of Object.entries(sources).entries()) {
    roots[name] = reader.exported(program.getSourceFile(files[n] as string), type)
  }
  return { roots, named: Object.fromEntries([...reader.named].sort(([a], [b]) => (a < b ? -1 : 1))) }
}

class TypeReader {
  readonly named = new Map<string, Shape>()
  private readonly names = new Map<ts.Symbol, string>()

  constructor(private readonly checker: ts.TypeChecker) {}

  exported(file: ts.SourceFile | undefined, type: string): Shape {
    const module = file && this.checker.getSymbolAtLocation(file)
    const symbol = module && this.checker.getExportsOfModule(module).find(({ name }) => name === type)
    if (symbol === undefined) throw new Error(`No type ${type} is exported.`)
    return this.read(this.checker.getDeclaredTypeOfSymbol(symbol))
  }

  private read(type: ts.Type): Shape {
    if (type.flags & ts.TypeFlags.StringLiteral) return { only: [(type as ts.StringLiteralType).value] }
    if (type.flags & ts.TypeFlags.NumberLiteral) return { only: [(type as ts.NumberLiteralType).value] }
    if (type.flags & ts.TypeFlags.BooleanLiteral)
      return { only: [this.checker.typeToString(type) === 'true'] }
    if (type.flags & ts.TypeFlags.StringLike) return 'string'
    if (type.flags & ts.TypeFlags.NumberLike) return 'number'
    if (type.flags & ts.TypeFlags.BooleanLike && !type.isUnion()) return 'boolean'
    if (type.flags & ts.TypeFlags.Null) return 'null'
    if (type.isUnion()) return this.union(type)
    if (type.isIntersection()) return this.intersection(type)
    if (this.checker.isArrayType(type) || this.checker.isTupleType(type)) {
      const [element] = this.checker.getTypeArguments(type as ts.TypeReference)
      return { list: element === undefined ? 'any' : this.read(element) }
    }
    if (type.flags & ts.TypeFlags.Object) return this.object(type)
    return 'any'
  }

  private union(type: ts.UnionType): Shape {
    const shapes: Shape[] = []
    const literals: (string | number | boolean)[] = []
    for (const part of type.types) {
      if (part.flags & ts.TypeFlags.Undefined) continue
      const shape = this.read(part)
      if (typeof shape === 'object' && 'only' in shape) literals.push(...shape.only)
      else if (!shapes.includes(shape)) shapes.push(shape)
    }
    // TypeScript takes booleans apart.
    const isBoolean = literals.includes(true) && literals.includes(false)
    if (isBoolean) shapes.push('boolean')
    const left = isBoolean ? literals.filter((value) => typeof value !== 'boolean') : literals
    if (left.length > 0 && !shapes.includes('string')) shapes.unshift({ only: left })
    return shapes.length === 1 ? (shapes[0] as Shape) : { either: shapes }
  }

  /** `string & {}` is how these libraries write a string with known values. */
  private intersection(type: ts.IntersectionType): Shape {
    return type.types.some((part) => part.flags & ts.TypeFlags.StringLike) ? 'string' : this.members(type)
  }

  private object(type: ts.Type): Shape {
    const { symbol } = type
    const isNamed = (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class)) !== 0
    if (!isNamed) return this.members(type)
    let name = this.names.get(symbol)
    if (name === undefined) {
      name = this.nameOf(symbol)
      this.names.set(symbol, name)
      this.named.set(name, 'any')
      this.named.set(name, this.members(type))
    }
    return { ref: name }
  }

  private nameOf(symbol: ts.Symbol): string {
    const full = this.checker.getFullyQualifiedName(symbol).replace(/^".*"\./, '')
    for (let n = 1; ; n++) {
      const name = n === 1 ? full : `${full}#${n}`
      if (!this.named.has(name)) return name
    }
  }

  private members(type: ts.Type): Shape {
    const members: Record<string, Shape> = {}
    const optional: string[] = []
    for (const property of this.checker.getPropertiesOfType(type)) {
      members[property.name] = this.read(this.checker.getTypeOfSymbol(property))
      // The libraries call some members required that may be null, and that their APIs do not miss.
      const isNullable = isOrHas(this.checker.getTypeOfSymbol(property), ts.TypeFlags.Null)
      if (property.flags & ts.SymbolFlags.Optional || isNullable) optional.push(property.name)
    }
    const others = this.checker.getIndexInfoOfType(type, ts.IndexKind.String)
    return {
      members,
      ...(optional.length > 0 ? { optional } : {}),
      ...(others === undefined ? {} : { others: this.read(others.type) }),
    }
  }
}

const isOrHas = (type: ts.Type, flag: ts.TypeFlags): boolean =>
  (type.flags & flag) !== 0 || (type.isUnion() && type.types.some((part) => isOrHas(part, flag)))

export const fileOf = (name: string) => fileURLToPath(new URL(`${name}.json`, import.meta.url))

// Run as `npx tsx`, followed by `npm run format`.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, sources] of Object.entries(SOURCES))
    writeFileSync(fileOf(name), `${JSON.stringify(shapesOf(sources))}\n`)
}
