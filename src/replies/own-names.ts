import type { Delta } from '../conversation/delta.js'
import { NAMES_IN_BLOCK, renamed } from '../conversation/tool-names.js'
import { isObject, textOf } from '../protocol/json-values.js'

/** Returns a delta with the client's own names of tools, by those that its provider was sent. */
export function withOwnNames(delta: Delta, names: ReadonlyMap<string, string>): Delta {
  if (delta.type === 'begin') {
    if (delta.kind === 'message') return delta
    if (delta.kind === 'call') return withName(delta, names)
    const own = (name: string) => names.get(name) ?? name
    return { ...delta, block: renamed(delta.block, NAMES_IN_BLOCK, own) }
  }
  // A provider that was sent the older form of tools answers in it.
  const called = delta.type === 'rest' ? delta.said?.function_call : undefined
  if (delta.type !== 'rest' || !isObject(called)) return delta
  return { ...delta, said: { ...delta.said, function_call: withName(called, names) } }
}

function withName<Named extends { readonly name?: unknown }>(
  named: Named,
  names: ReadonlyMap<string, string>,
): Named {
  const own = names.get(textOf(named.name) ?? '')
  return own === undefined ? named : { ...named, name: own }
}
