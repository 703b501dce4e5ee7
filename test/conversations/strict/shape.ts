/** What a JSON value may be, as data. */
export type Shape =
  | 'any'
  | 'string'
  | 'number'
  | 'boolean'
  | 'null'
  | { readonly only: readonly (string | number | boolean)[] }
  | { readonly list: Shape }
  | { readonly either: readonly Shape[] }
  | { readonly ref: string }
  | ObjectShape

export interface ObjectShape {
  readonly members: Readonly<Record<string, Shape>>
  readonly optional?: readonly string[]
  /** What members with other names may be. Without it there may be none. */
  readonly others?: Shape
}

export interface Shapes {
  readonly roots: Readonly<Record<string, Shape>>
  readonly named: Readonly<Record<string, Shape>>
}

export type Json = Readonly<Record<string, unknown>>

export type Path = readonly (string | number)[]

/** Where a value is not what it may be. */
export type Misfit =
  | { readonly kind: 'missing'; readonly path: Path; readonly tags: Path }
  | { readonly kind: 'unknown'; readonly path: Path; readonly tags: Path }
  /** Any of these types would do. */
  | {
      readonly kind: 'type'
      readonly path: Path
      readonly tags: Path
      readonly wanted: readonly string[]
      readonly value: unknown
    }
  /** Any of these values would do. */
  | {
      readonly kind: 'value'
      readonly path: Path
      readonly tags: Path
      readonly wanted: readonly unknown[]
      readonly value: unknown
    }

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Place {
  readonly path: Path
  /** The path with the tag of each union that was decided by one, as Pydantic writes it. */
  readonly tags: Path
}

const at = ({ path, tags }: Place, step: string | number): Place => ({
  path: [...path, step],
  tags: [...tags, step],
})

type Resolved = Exclude<Shape, { ref: string }>
type Alternative = Exclude<Resolved, { either: readonly Shape[] }>

const TAGS = ['type', 'role']

/** Makes a function that finds where a value first does not fit a root of these shapes. */
export function misfitFinder({ roots, named }: Shapes): (root: string, value: unknown) => Misfit | undefined {
  const alternatives = new Map<Shape, readonly Alternative[]>()

  const resolved = (shape: Shape): Resolved => {
    if (typeof shape !== 'object' || !('ref' in shape)) return shape
    const target = named[shape.ref]
    if (target === undefined) throw new Error(`There is no shape ${shape.ref}.`)
    return resolved(target)
  }

  function check(given: Shape, value: unknown, place: Place): Misfit | undefined {
    const shape = resolved(given)
    if (shape === 'any') return undefined
    if (typeof shape === 'string') {
      const fits = shape === 'null' ? value === null : typeof value === shape
      return fits ? undefined : { kind: 'type', ...place, wanted: [shape], value }
    }
    if ('only' in shape) {
      if ((shape.only as readonly unknown[]).includes(value)) return undefined
      return { kind: 'value', ...place, wanted: shape.only, value }
    }
    if ('list' in shape) {
      if (!Array.isArray(value)) return { kind: 'type', ...place, wanted: ['list'], value }
      return first(value, (element, n) => check(shape.list, element, at(place, n)))
    }
    if ('either' in shape) return checkEither(flat(shape), value, place)
    if (!isObject(value)) return { kind: 'type', ...place, wanted: ['object'], value }
    return checkMembers(shape, value, place)
  }

  function checkMembers(shape: ObjectShape, value: Json, place: Place): Misfit | undefined {
    const { members, optional = [], others } = shape
    for (const [name, member] of Object.entries(members)) {
      if (value[name] !== undefined) {
        const misfit = check(member, value[name], at(place, name))
        if (misfit !== undefined) return misfit
      } else if (!optional.includes(name)) return { kind: 'missing', ...at(place, name) }
    }
    return first(Object.keys(value), (name) => {
      if (Object.hasOwn(members, name) || value[name] === undefined) return undefined
      return others === undefined
        ? { kind: 'unknown', ...at(place, name) }
        : check(others, value[name], at(place, name))
    })
  }

  function checkEither(all: readonly Alternative[], value: unknown, place: Place): Misfit | undefined {
    if (!isObject(value)) {
      const misfits = all.map((shape) => check(shape, value, place))
      if (misfits.includes(undefined)) return undefined
      const inner = misfits.find((misfit) => misfit !== undefined && misfit.path.length > place.path.length)
      if (inner !== undefined) return inner
      const values = misfits.flatMap((misfit) => (misfit?.kind === 'value' ? misfit.wanted : []))
      if (values.length > 0 && typeof value === typeof values[0])
        return { kind: 'value', ...place, wanted: values, value }
      const wanted = misfits.flatMap((misfit) =>
        misfit?.kind === 'type' ? misfit.wanted : misfit?.kind === 'value' ? [typeof misfit.wanted[0]] : [],
      )
      return { kind: 'type', ...place, wanted: [...new Set(wanted)], value }
    }
    const objects = all.filter(
      (shape): shape is ObjectShape => typeof shape === 'object' && 'members' in shape,
    )
    if (objects.length === 0) {
      return all.includes('any') ? undefined : { kind: 'type', ...place, wanted: all.map(nameOf), value }
    }
    const fitting = objects.filter((shape) => tagMisfit(shape, value) === undefined)
    if (fitting.length === 0) return badTag(objects, value, place)
    const tag = objects.length > 1 ? value.type : undefined
    const inside = typeof tag === 'string' ? { path: place.path, tags: [...place.tags, tag] } : place
    const misfits = fitting.map((shape) => checkMembers(shape, value, inside))
    if (misfits.includes(undefined)) return undefined
    return misfits.reduce((best, misfit) => (nearness(misfit) > nearness(best) ? misfit : best))
  }

  /** The shapes of which one must fit, as often as they are asked for. */
  function flat(shape: Shape): readonly Alternative[] {
    const known = alternatives.get(shape)
    if (known !== undefined) return known
    const one = resolved(shape)
    const all = typeof one === 'object' && 'either' in one ? one.either.flatMap(flat) : [one]
    alternatives.set(shape, all)
    return all
  }

  /** The member that says which shape a value has, if it says another one. */
  function tagMisfit({ members, optional = [] }: ObjectShape, value: Json): string | undefined {
    return TAGS.find((name) => {
      const member = resolved(members[name] ?? 'any')
      if (typeof member !== 'object' || !('only' in member)) return false
      if (value[name] === undefined) return !optional.includes(name)
      return !(member.only as readonly unknown[]).includes(value[name])
    })
  }

  function badTag(objects: readonly ObjectShape[], value: Json, place: Place): Misfit {
    const name = objects.map((shape) => tagMisfit(shape, value)).includes('type') ? 'type' : 'role'
    const wanted = objects.flatMap(({ members }) => {
      const member = resolved(members[name] ?? 'any')
      return typeof member === 'object' && 'only' in member ? member.only : []
    })
    const tag = at(place, name)
    return value[name] === undefined
      ? { kind: 'missing', ...tag }
      : { kind: 'value', ...tag, wanted: [...new Set(wanted)], value: value[name] }
  }

  return (root, value) => check(roots[root] as Shape, value, { path: [], tags: [] })
}

/** How far a value fitted before it did not. A member too many is found only where all others fit. */
const nearness = (misfit: Misfit | undefined) =>
  (misfit?.path.length ?? 0) + (misfit?.kind === 'unknown' ? 0.5 : 0)

function nameOf(shape: Shape): string {
  if (typeof shape === 'string') return shape
  if ('only' in shape) return typeof shape.only[0]
  return 'list' in shape ? 'list' : 'object'
}

/** The first that is found in a list. */
export function first<Element, Found>(
  list: readonly Element[],
  find: (element: Element, at: number) => Found | undefined,
): Found | undefined {
  for (const [n, element] of list.entries()) {
    const found = find(element, n)
    if (found !== undefined) return found
  }
  return undefined
}

/** The objects of what should be a list of them. */
export const objects = (list: unknown): readonly Json[] => (Array.isArray(list) ? list.filter(isObject) : [])
