/** The routes, by what answers them. */
export type RouteName = 'chatCompletions' | 'listModels' | 'getModel' | 'envelopeKeys' | 'openapi'

export interface RouteMatch {
  readonly route: RouteName
  /** The model key as it stands in the target; empty for the other routes. */
  readonly key: string
}

const FIXED = new Map<string, RouteMatch>(
  (
    [
      ['/chat/completions', 'chatCompletions'],
      ['/models', 'listModels'],
      ['/envelope-keys', 'envelopeKeys'],
      ['/openapi.json', 'openapi'],
    ] as const
  ).flatMap(([path, route]) => [
    [path, { route, key: '' }],
    [`${path}/`, { route, key: '' }],
  ]),
)

const MODEL_PREFIX = '/models/'
const SLASH = 47
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/**
 * The path of a request target: without scheme and host (RFC 9112 section 3.2.2), query and fragment; otherwise as it
 * stands, with no escape, slash, dot segment or case changed.
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

/** What follows the base path, or undefined where the path is outside of it. The base ends only at a `/` or the end. */
export function pathUnder(basePath: string, path: string): string | undefined {
  if (basePath === '') return path
  if (!path.startsWith(basePath)) return undefined
  if (path.length === basePath.length) return '/'
  return path.charCodeAt(basePath.length) === SLASH ? path.slice(basePath.length) : undefined
}

/** Finds the route of a path below the mount. */
export function matchRoute(path: string): RouteMatch | undefined {
  const fixed = FIXED.get(path)
  if (fixed !== undefined) return fixed
  return path.startsWith(MODEL_PREFIX)
    ? { route: 'getModel', key: path.slice(MODEL_PREFIX.length) }
    : undefined
}

/** What stands before the route of chats or of the list of models at the end of a path that is no route itself. */
export function mountOf(path: string): string | undefined {
  return /^(\/.{0,99}?)\/(?:chat\/completions|models)\/?$/.exec(path)?.[1]
}

/** Checks a base path and drops its trailing slashes. Throws a `TypeError` where it can match nothing. */
export function normaliseBasePath(basePath: string): string {
  if (typeof basePath !== 'string' || (basePath !== '' && !/^\/[^?#\s]*$/.test(basePath))) {
    throw new TypeError(
      `basePath must begin with a slash and hold no query, fragment or white space, such as '/compat/v1'; got ${JSON.stringify(basePath)}`,
    )
  }
  let end = basePath.length
  while (end > 0 && basePath.charCodeAt(end - 1) === SLASH) end--
  return basePath.slice(0, end)
}
