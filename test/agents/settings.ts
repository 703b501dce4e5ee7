import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeBlocks } from '../helpers/markdown.js'
import type { Place } from './agents.js'

const blocks = codeBlocks(readFileSync(join(import.meta.dirname, '../../docs/clients.md'), 'utf8'))

/** What the clients page tells the users of an agent to write, for this place. */
export function documentedSettings(agent: string, { key, model, router }: Place): string {
  const [block, ...others] = blocks.filter(({ directives }) => directives.check === agent)
  if (block === undefined || others.length > 0)
    throw new Error(`The clients page has no one block of ${agent}.`)
  return block.text
    .replaceAll('https://api.example.com/compat', router)
    .replaceAll('sk-…', key)
    .replaceAll('acme/fast', model)
}

/** The variables that lines of a shell export. */
export function exported(script: string): Record<string, string> {
  const lines = script.matchAll(/^export (\w+)=(.+)$/gm)
  return Object.fromEntries(Array.from(lines, ([, name, value]) => [name!, value!]))
}
