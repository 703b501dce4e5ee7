import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commitOf, MEASURED_PAGE, MEASURED_PARTS, readPart, replacePart } from './lib/measured-tables.js'

const page = readFileSync(MEASURED_PAGE, 'utf8')
/** A release states only figures of its own build. Between releases, others are stated with a warning. */
const isRelease = process.env.RELEASE === '1'

/** Returns the fault of the build that a part was measured on. */
function staleness(part: string): string | undefined {
  const commit = commitOf(part)
  if (commit === undefined) return 'names no commit'
  const isKnown = spawnSync('git', ['merge-base', '--is-ancestor', commit, 'HEAD'], { stdio: 'ignore' })
  if (isKnown.status !== 0) return `was measured on ${commit}, which is not in the history here`
  const what = ['diff', '--shortstat', commit, '--', 'src', 'package-lock.json']
  const differs = execFileSync('git', what, { encoding: 'utf8' }).trim()
  return differs === '' ? undefined : `was measured on ${commit}, since when: ${differs}`
}

describe('the measured tables', () => {
  it.each(MEASURED_PARTS)('of the part $name are of the build beside them', ({ name }) => {
    const stale = staleness(readPart(page, name))
    if (isRelease) expect(stale).toBeUndefined()
    else if (stale !== undefined) {
      process.stderr.write(`${MEASURED_PAGE}: the part ${name} ${stale}. Run npm run bench:tables\n`)
    }
  })

  it('are replaced between their marks, and nowhere else', () => {
    const name = MEASURED_PARTS[0]!.name
    const replaced = replacePart(page, name, 'Commit 0123abc. $& stays as it is.')
    expect(readPart(replaced, name).trim()).toBe('Commit 0123abc. $& stays as it is.')
    expect(commitOf(readPart(replaced, name))).toBe('0123abc')
    for (const other of MEASURED_PARTS.slice(1)) {
      expect(readPart(replaced, other.name)).toBe(readPart(page, other.name))
    }
    expect(() => readPart(page, 'nothing')).toThrow('The page has no part between')
  })

  it('of a build with uncommitted changes name no commit', () => {
    expect(commitOf('Load before: 1. Commit 0123abc-dirty.')).toBeUndefined()
    expect(commitOf('Commit unknown.')).toBeUndefined()
  })
})
