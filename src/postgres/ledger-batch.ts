import type { LimitState } from '../contracts/index.js'
import { readBigint, readNumber, readOptionalText, readText } from '../sql/cells.js'
import type { Parameter, Row, Statement } from '../sql/database.js'
import { ENTRY_COLUMNS, type EntryColumn } from '../sql/entry-rows.js'
import {
  bucketsOf,
  type HoldCommand,
  type LedgerCommand,
  type LedgerOutcome,
  type ReleaseCommand,
  type SettleCommand,
} from '../sql/ledger-commands.js'
import { PLACEHOLDERS, toLedgerParameters } from './ledger-parameters.js'
import { readCounts, toLimitArrays } from './limit-arrays.js'
import type { Busy } from './row-queues.js'

/** A batch, split into the three parts of its statement. */
interface Parts {
  readonly releases: readonly ReleaseCommand[]
  readonly settlements: readonly SettleCommand[]
  readonly holds: readonly HoldCommand[]
}

const CALL = `select * from {apply_ledger_1}(${PLACEHOLDERS})`

/** The names of rows that commands may have to wait for, as the ledger function writes them. */
const ACCOUNT = 'account:'
const BUCKET = 'bucket:'

/** Returns the rows that a command locks. Those of the hold that it ends are not known yet. */
export function rowsOf(command: LedgerCommand): readonly string[] {
  return [
    ...payersOf(command).map((account) => ACCOUNT + account),
    ...bucketsOf(command).map((bucket) => BUCKET + bucket),
  ]
}

/** Returns the accounts from which a command takes credits, or may take them. An account may appear twice. */
function payersOf(command: LedgerCommand): readonly string[] {
  if (command.kind !== 'settle') return [command.account]
  const debited = command.postings.filter(({ amount }) => amount < 0n)
  return [command.account, ...debited.map(({ account }) => account)]
}

/**
 * Returns one statement for a batch, and a reader of its rows as outcomes in the order of the commands. The batch waits for
 * the rows in `awaited`. A command that needs another row that is locked is busy.
 *
 * @param process the process that takes the holds; if absent, they last until they expire
 */
export function toLedgerBatch(
  commands: readonly LedgerCommand[],
  process?: string,
  awaited: readonly string[] = [],
): {
  readonly statement: Statement
  readonly hasSettlements: boolean
  readonly read: (rows: readonly Row[]) => readonly (LedgerOutcome | Busy)[]
} {
  const parts: Parts = {
    releases: commands.filter((command) => command.kind === 'release'),
    settlements: commands.filter((command) => command.kind === 'settle'),
    holds: commands.filter((command) => command.kind === 'hold'),
  }
  return {
    statement: toStatement(parts, process, awaited),
    hasSettlements: parts.settlements.length > 0,
    read: (rows) => readOutcomes(commands, parts, rows),
  }
}

function toStatement(
  { releases, settlements, holds }: Parts,
  process: string | undefined,
  awaited: readonly string[],
): Statement {
  const payers = new Map<string, number>()
  for (const [index, { account }] of settlements.entries()) payers.set(account, index + 1)
  const postings = settlements.flatMap((settlement, index) =>
    settlement.postings.map(({ account, amount }) => ({ settlement: index + 1, account, amount })),
  )
  // In the index's order, so that neighbours are written together.
  postings.sort((first, second) =>
    first.account < second.account ? -1 : Number(first.account > second.account),
  )
  const accounts = new Set<string>()
  const creditors = new Set<string>()
  for (const { account } of releases) accounts.add(account)
  for (const { account } of settlements) accounts.add(account)
  for (const { account } of holds) accounts.add(account)
  for (const { account, amount } of postings) (amount < 0n ? accounts : creditors).add(account)
  const groups = groupHolds(holds)
  return {
    text: CALL,
    parameters: toLedgerParameters(
      {
        accounts: [...accounts],
        released: releases.map((release) => release.holdId),
        release_accounts: releases.map((release) => release.account),
        claims: settlements.map((settlement) => settlement.claim),
        ...toEntryArrays(settlements),
        payers: [...payers.keys()],
        payer_places: [...payers.values()],
        creditors: [...creditors],
        posting_settlements: postings.map((posting) => posting.settlement),
        posting_accounts: postings.map((posting) => posting.account),
        posting_amounts: postings.map((posting) => posting.amount),
        group_accounts: groups.accounts,
        group_totals: groups.totals,
        holds: holds.map((hold) => hold.holdId),
        hold_groups: groups.places,
        hold_accounts: holds.map((hold) => hold.account),
        amounts: holds.map((hold) => hold.amount),
        ttls: holds.map((hold) => hold.ttlMs),
        hold_claims: holds.map((hold) => hold.claim),
        replaces: holds.map((hold) => hold.replaces),
        facts: holds.map((hold) => hold.facts),
        step_amounts: holds.map(({ steps }) => steps?.amount ?? null),
        usual_steps: holds.map(({ steps }) => steps?.usual ?? null),
        most_steps: holds.map(({ steps }) => steps?.most ?? null),
        hides_balance: holds.map(({ steps }) => (steps?.hidesBalance === true ? 1 : null)),
        before_balance: holds.map(({ beforeBalance }) => beforeBalance || null),
        ...toLimitArrays(holds, settlements),
        awaited_accounts: namesOf(ACCOUNT, awaited),
        awaited_buckets: namesOf(BUCKET, awaited),
      },
      process,
    ),
  }
}

function namesOf(kind: string, rows: readonly string[]): readonly string[] {
  return rows.filter((row) => row.startsWith(kind)).map((row) => row.slice(kind.length))
}

function toEntryArrays(settlements: readonly SettleCommand[]): Record<EntryColumn, readonly Parameter[]> {
  const arrays = ENTRY_COLUMNS.map((column, index) => [column, settlements.map(({ entry }) => entry[index]!)])
  return Object.fromEntries(arrays) as Record<EntryColumn, readonly Parameter[]>
}

/**
 * Groups the holds of each account that has only plain holds, with their total. If one hold must be checked
 * individually, so are the account's others, to keep their order. Their place is 0.
 */
function groupHolds(holds: readonly HoldCommand[]): {
  readonly accounts: readonly string[]
  readonly totals: readonly bigint[]
  readonly places: readonly number[]
} {
  const single = new Set<string>()
  for (const hold of holds) {
    const isPlain = hold.claim === null && hold.replaces === null && hold.steps === null
    if (!isPlain) single.add(hold.account)
  }
  const accounts: string[] = []
  const totals: bigint[] = []
  const placeOf = new Map<string, number>()
  const places = holds.map(({ account, amount }) => {
    if (single.has(account)) return 0
    let place = placeOf.get(account)
    if (place === undefined) {
      place = accounts.push(account)
      totals.push(0n)
      placeOf.set(account, place)
    }
    totals[place - 1]! += amount
    return place
  })
  return { accounts, totals, places }
}

function readOutcomes(
  commands: readonly LedgerCommand[],
  parts: Parts,
  rows: readonly Row[],
): readonly (LedgerOutcome | Busy)[] {
  const special = new Map<LedgerCommand, LedgerOutcome | Busy>()
  const lost = new Set<LedgerCommand>()
  const balances = new Map<string, bigint>()
  const states = new Map<string, readonly bigint[]>()
  const steps = new Map<LedgerCommand, number>()
  let plain = -1
  for (const row of rows) {
    const kind = readText(row, 'kind')
    if (kind === 'starts' || kind === 'lefts' || kind === 'resets') {
      states.set(kind, readCounts(row))
      continue
    }
    const place = readNumber(row, 'place')
    switch (kind) {
      case 'done':
        plain = place
        break
      case 'busy-release':
        special.set(parts.releases[place - 1]!, { kind: 'busy', row: readText(row, 'awaited') })
        break
      case 'busy-settlement':
        special.set(parts.settlements[place - 1]!, { kind: 'busy', row: readText(row, 'awaited') })
        break
      case 'busy-hold':
        special.set(parts.holds[place - 1]!, { kind: 'busy', row: readText(row, 'awaited') })
        break
      case 'settled':
        special.set(parts.releases[place - 1]!, { kind })
        break
      case 'repeated':
        special.set(parts.settlements[place - 1]!, { kind, entryId: readBigint(row, 'entry_id') })
        break
      case 'steps':
        steps.set(parts.holds[place - 1]!, Number(readCounts(row)[0]))
        break
      case 'claim-lost':
        lost.add(parts.settlements[place - 1]!)
        break
      case 'balance':
        balances.set(parts.settlements[place - 1]!.account, readBigint(row, 'posted'))
        break
      case 'insufficient':
        special.set(parts.holds[place - 1]!, {
          kind,
          posted: readBigint(row, 'posted'),
          available: readBigint(row, 'available'),
        })
        break
      case 'claimed': {
        const entryId = readOptionalText(row, 'entry_id')
        special.set(parts.holds[place - 1]!, {
          kind,
          entryId: entryId === undefined ? null : BigInt(entryId),
        })
        break
      }
      case 'limited': {
        const hold = parts.holds[place - 1]!
        const [limit, left, resetMs, isOnlyHeld] = readCounts(row)
        special.set(hold, {
          kind,
          bucket: hold.limits[Number(limit) - 1]!.bucket,
          left: left!,
          resetMs: Number(resetMs),
          onlyHeld: isOnlyHeld === 1n,
        })
        break
      }
      case 'closed':
      case 'conflict':
        special.set(parts.holds[place - 1]!, { kind })
        break
      default:
        throw new Error(`The database's ledger function returned an unknown outcome: ${JSON.stringify(kind)}`)
    }
  }
  // A missing row means success, so it is trusted only if the count agrees.
  if (plain + special.size !== commands.length) {
    throw new Error(`The database answered ${plain + special.size} of ${commands.length} commands`)
  }
  let limit = 0
  return commands.map((command): LedgerOutcome | Busy => {
    const first = limit
    if (command.kind === 'hold') limit += command.limits.length
    const outcome = special.get(command)
    const taken = steps.get(command)
    if (outcome !== undefined) {
      const isCounted = outcome.kind === 'insufficient' || outcome.kind === 'limited'
      return isCounted && taken !== undefined ? { ...outcome, steps: taken } : outcome
    }
    if (command.kind === 'hold') {
      return {
        kind: 'granted',
        ...(command.limits.length > 0 && { limits: toStates(command, states, first) }),
        ...(taken !== undefined && { steps: taken }),
      }
    }
    if (command.kind === 'release') return { kind: 'released' }
    return {
      kind: 'posted',
      balance: balances.get(command.account) ?? 0n,
      claimLost: lost.has(command),
    }
  })
}

/** Returns the answers for a granted hold's limits. `first` is the place of its first limit in the batch. */
function toStates(
  { limits }: HoldCommand,
  states: ReadonlyMap<string, readonly bigint[]>,
  first: number,
): readonly LimitState[] {
  const [starts, lefts, resets] = [states.get('starts'), states.get('lefts'), states.get('resets')]
  if (starts === undefined || lefts === undefined || resets === undefined) {
    throw new Error('The database did not return the limits of a hold')
  }
  return limits.map(({ bucket }, index) => ({
    bucket,
    from: Number(starts[first + index]),
    left: lefts[first + index]!,
    resetMs: Number(resets[first + index]),
  }))
}
