import dns, { type LookupAddress } from 'node:dns'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'

describe('the command line where the server of PostgreSQL cannot be reached', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each(['verify', 'accounts open alice'])('%s says why, for each address of the host', async (args) => {
    const addresses: readonly LookupAddress[] = [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ]
    const answer = (...[, , callback]: [string, object, (error: null, found: typeof addresses) => void]) => {
      callback(null, addresses)
    }
    vi.spyOn(dns, 'lookup').mockImplementation(answer as never)
    let said = ''
    const exitCode = await runCli(args.split(' '), {
      env: { DATABASE_URL: 'postgres://two.example:1/postgres' },
      stdin: Readable.from([]),
      write: () => undefined,
      writeError: (text) => {
        said += text
      },
    })
    expect({ exitCode, said }).toEqual({
      exitCode: 1,
      said: 'error: connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.2:1\n',
    })
  })
})
