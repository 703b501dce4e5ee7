import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { HOLES } from './holes.js'
import { plantedIn } from './planted-in.js'

it.each(HOLES.map((hole) => [hole.name, hole] as const))(
  'the hole %s can be planted in the current source, and a test looks for it',
  (_, hole) => {
    const source = readFileSync(hole.file, 'utf8')
    expect(plantedIn(source, hole)).not.toBe(source)
    const [file, title] = hole.test
    expect(readFileSync(file, 'utf8')).toContain(title)
  },
)
