import type { Command } from 'commander'
import { present } from '../../base/present.js'
import { parseTime } from '../context/parse.js'

export interface FilterOptions {
  readonly account?: string
  readonly app?: string
  readonly model?: string
  readonly from?: number
  readonly to?: number
}

/** Adds the options that choose entries, charges or calls. */
export function addFilters(command: Command): Command {
  return command
    .option('--account <account>', 'only this account')
    .option('--app <app>', 'only this app')
    .option('--model <model>', 'only this model')
    .option('--from <time>', 'at or after this time, such as 2027-01-31', parseTime)
    .option('--to <time>', 'before this time', parseTime)
}

export function toFilters({ account, app, model, from, to }: FilterOptions) {
  return present({ account, appId: app, model, from, to })
}
