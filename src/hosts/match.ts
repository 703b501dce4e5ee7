import { CompatError } from '../base/errors.js'
import type { Endpoint } from '../contracts/endpoint.js'

/** The endpoints at one path, one for each method. */
export interface PathMatch {
  readonly endpoints: readonly Endpoint[]
  /** The rest of the path if the endpoint's path ends with a parameter, otherwise empty. */
  readonly parameter: string
}

const LONGEST_MOUNT = 100
const VERSION = '/v1'
const SLASH = 47
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/**
 * Returns the path of a request target, without scheme and host (RFC 9112 section 3.2.2), query and fragment. Escapes,
 * slashes, dot segments and case stay unchanged.
 */
export function pathOf(target: string): string {
  let start = 0
  if (target.charCodeAt(0) !== SLASH) start = ABSOLUTE_FORM.exec(target)?.[0].length ?? 0
  let end = target.indexOf('?', start)
  if (end === -1) end = target.length
  const fragment = target.indexOf('#', start)
  if (fragment !== -1 && fragment < end) end = fragment
  return end === start ? '/' : target.slice(start, end)
}

/** Returns the query of a request target, without `?`; empty if there is none. */
export function queryOf(target: string): string {
  const fragment = target.indexOf('#')
  const start = target.indexOf('?')
  if (start === -1 || (fragment !== -1 && fragment < start)) return ''
  return target.slice(start + 1, fragment === -1 ? undefined : fragment)
}

/** Returns the part after the base path, or undefined if the path is outside of it. Compares whole path segments. */
export function pathUnder(basePath: string, path: string): string | undefined {
  if (basePath === '') return path
  if (!path.startsWith(basePath)) return undefined
  if (path.length === basePath.length) return '/'
  return path.charCodeAt(basePath.length) === SLASH ? path.slice(basePath.length) : undefined
}

/** Finds the endpoints of a path. */
export class PathTable {
  private readonly fixed = new Map<string, PathMatch>()
  private readonly prefixes: { readonly prefix: string; readonly endpoints: readonly Endpoint[] }[] = []
  private readonly paths: readonly string[]

  constructor(endpoints: readonly Endpoint[]) {
    const byPath = new Map<string, Endpoint[]>()
    for (const endpoint of endpoints) {
      byPath.set(endpoint.path, [...(byPath.get(endpoint.path) ?? []), endpoint])
    }
    for (const [path, found] of byPath) {
      const start = path.indexOf('{')
      if (start >= 0) this.prefixes.push({ prefix: path.slice(0, start), endpoints: found })
      else
        for (const spelling of [path, `${path}/`])
          this.fixed.set(spelling, { endpoints: found, parameter: '' })
    }
    this.paths = [...byPath.keys()].filter((path) => !path.includes('{'))
  }

  /**
   * Returns the endpoints of a path below the mount. A fixed path may end with a slash. Repeated slashes count as one,
   * except in a parameter.
   */
  find(path: string): PathMatch | undefined {
    const fixed = this.fixed.get(path) ?? this.fixed.get(withSingleSlashes(path))
    if (fixed !== undefined) return fixed
    for (const { endpoints, prefix } of this.prefixes) {
      const end = endOfPrefix(prefix, path)
      if (end !== undefined) return { endpoints, parameter: path.slice(end) }
    }
    return undefined
  }

  /** Whether a path below the mount is an endpoint's path with an extra `/v1`. */
  hasExtraVersion(path: string): boolean {
    const plain = withSingleSlashes(path)
    return plain.startsWith(`${VERSION}/`) && this.find(plain.slice(VERSION.length)) !== undefined
  }

  /** Returns the part before an endpoint's path, at most 100 characters, if a path ends with one. */
  mountOf(path: string): string | undefined {
    const plain = withSingleSlashes(path)
    const end = plain.endsWith('/') ? plain.length - 1 : plain.length
    for (const fixed of this.paths) {
      const start = end - fixed.length
      if (start > 0 && start <= LONGEST_MOUNT && plain.startsWith(fixed, start)) return plain.slice(0, start)
    }
    return undefined
  }
}

/** Returns the 404 for a path with an extra `/v1`. `whole` is the client's path, and `path` its part below the mount. */
export function extraVersion(whole: string, path: string): CompatError {
  const mount = whole.endsWith(path) ? withoutTrailingSlashes(whole.slice(0, -path.length)) : ''
  const baseUrl =
    mount === '' || mount.length > LONGEST_MOUNT
      ? `the address of this API, without ${VERSION} at its end`
      : `the one that ends with ${mount}, without another ${VERSION} after it`
  return new CompatError(
    'not_found',
    `There is no ${VERSION} under this API. Set the base URL of your client to ${baseUrl}.`,
  )
}

function withSingleSlashes(path: string): string {
  return path.replace(/\/{2,}/g, '/')
}

/** Returns the length of a prefix in a path that may repeat each of its slashes but the last. */
function endOfPrefix(prefix: string, path: string): number | undefined {
  let end = 0
  for (let index = 0; index < prefix.length; index++) {
    if (path[end] !== prefix[index]) return undefined
    end++
    if (prefix[index] === '/' && index < prefix.length - 1) while (path[end] === '/') end++
  }
  return end
}

/** Returns a mount path as requests are compared with it. */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path.charCodeAt(end - 1) === SLASH) end--
  return path.slice(0, end)
}
