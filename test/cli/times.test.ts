import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseTime } from '../../src/cli/context/parse.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { runCommand } from './run-command.js'

/** Texts that look like a time but are invalid or ambiguous. */
const REFUSED = [
  '12',
  '2027',
  '2027-1-1',
  '2027-01',
  '1.5.2027',
  '11/12',
  '01/02/2027',
  'May 5 2027',
  'tomorrow',
  '',
  '2027-02-31',
  '2027-02-29',
  '2027-00-10',
  '2027-13-01',
  '2027-04-00',
  '2027-04-30T24:00',
  '2027-04-30T12',
  '2027-04-30T12:60',
  '2027-04-30T12:00:60',
  '2027-04-30T12:00+24:00',
  '2027-04-30T12:00+0100',
  '2027-04-30T12:00 Z',
  '2027-04-30 12:00',
  '2027-04-30Z',
  ' 2027-04-30',
  '2027-04-30\n',
  '-2027-04-30',
  '+012027-04-30',
  '99999999999999999',
]

describe('times on the command line', () => {
  let testFile: TestFile
  beforeAll(async () => {
    // In this zone, a time without an offset would differ if it were read as local time.
    vi.stubEnv('TZ', 'America/New_York')
    testFile = await createTestFile()
  })
  afterAll(() => {
    vi.unstubAllEnvs()
    testFile.remove()
  })

  const run = (...args: string[]) => runCommand(args, { COMPAT_ROUTER_FILE: testFile.file })

  it('are days or ISO times, in UTC if they have no offset', () => {
    expect(new Date(2027, 0, 1).getTimezoneOffset()).toBe(300)
    const read = (text: string) => new Date(parseTime(text)).toISOString()
    expect(read('2027-04-30')).toBe('2027-04-30T00:00:00.000Z')
    expect(read('2028-02-29')).toBe('2028-02-29T00:00:00.000Z')
    expect(read('2027-04-30T12:34')).toBe('2027-04-30T12:34:00.000Z')
    expect(read('2027-04-30T12:34:56')).toBe('2027-04-30T12:34:56.000Z')
    expect(read('2027-04-30T12:34:56.7')).toBe('2027-04-30T12:34:56.700Z')
    expect(read('2027-04-30T12:34:56.789Z')).toBe('2027-04-30T12:34:56.789Z')
    expect(read('2027-04-30T00:30+02:00')).toBe('2027-04-29T22:30:00.000Z')
    expect(read('2027-12-31T23:00:00-05:30')).toBe('2028-01-01T04:30:00.000Z')
    expect(parseTime('1808956800000')).toBe(1_808_956_800_000)
  })

  it.each(REFUSED)('cannot be %j, which is refused with an example of a valid time', async (text) => {
    for (const args of [
      ['keys', 'issue', 'alice', `--expires=${text}`],
      ['reports', 'spend', `--from=${text}`],
      ['entries', 'list', `--to=${text}`],
    ]) {
      const { exitCode, out, said } = await run(...args)
      expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' })
      expect(said).toContain(`argument '${text}' is invalid`)
      expect(said).toContain('2027-01-31T12:00:00+01:00')
    }
  })

  it('must be in the future for an expiry, but may be in the past for a report', async () => {
    const ended = ['keys issue alice', 'keys issue-token alice app', 'keys reissue x']
    for (const command of ended) {
      for (const time of ['2001-12-01', '1700000000000', new Date().toISOString()]) {
        const { exitCode, out, said } = await run(...command.split(' '), '--expires', time)
        expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' })
        expect(said).toContain(`argument '${time}' is invalid. Must be in the future`)
      }
    }
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    expect(await run('keys', 'issue', 'alice', '--expires', soon)).toMatchObject({ exitCode: 0 })
    expect(JSON.parse((await run('--json', 'keys', 'list')).out)).toMatchObject([
      { expiresAt: Date.parse(soon) },
    ])
    expect((await run('reports', 'spend', '--from', '2001-12-01')).exitCode).toBe(0)
  })
})
