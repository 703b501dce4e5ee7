import { describe, expect, it } from 'vitest'
import { runCommand } from './run-command.js'

describe('the command line with a DATABASE_URL that is not an address of a PostgreSQL database', () => {
  it.each(['accounts balance alice', 'accounts open alice', 'maintenance migrate'])(
    '%s explains the format without showing the value',
    async (args) => {
      for (const url of [
        'hunter2',
        ' ',
        'mysql://root:hunter2@localhost/credits',
        'postgres://root:hunter2#1@localhost/credits',
      ]) {
        expect(await runCommand(args.split(' '), { DATABASE_URL: url }), url).toEqual({
          exitCode: 1,
          out: '',
          said: expect.stringMatching(
            /^error: DATABASE_URL must be the address of a PostgreSQL database, such as (?!.*hunter2)/,
          ),
        })
      }
    },
  )
})
