import { readFileSync } from 'node:fs'
import type { Shapes } from '../shape.js'

const read = (name: string): Shapes =>
  JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as Shapes

export const OPENAI = read('openai')
export const ANTHROPIC = read('anthropic')
