import dns, { type LookupAddress } from 'node:dns'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runCommand } from './run-command.js'

describe('the command line without a reachable PostgreSQL server', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each(['maintenance verify', 'accounts open alice'])(
    '%s reports the error of each address of the host',
    async (args) => {
      const addresses: readonly LookupAddress[] = [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ]
      const answer = (
        ...[, , callback]: [string, object, (error: null, found: typeof addresses) => void]
      ) => {
        callback(null, addresses)
      }
      vi.spyOn(dns, 'lookup').mockImplementation(answer as never)
      const env = { DATABASE_URL: 'postgres://two.example:1/postgres' }
      expect(await runCommand(args.split(' '), env)).toEqual({
        exitCode: 1,
        out: '',
        said: 'error: connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.2:1\n',
      })
    },
  )
})
