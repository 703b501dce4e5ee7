import { randomUUID } from 'node:crypto'
import type { CredentialStore, LedgerReader, LedgerStore } from 'compat-router/stores'

/** The stores of a router, and the operations of its host. Amounts are decimal strings of credits. */
export interface Bank {
  readonly credentials: CredentialStore
  readonly ledger: LedgerStore
  /** Every charge above zero, oldest first. */
  charges(): Promise<readonly bigint[]>
  /** Returns the key of a new account. */
  openCredit(amount: string): Promise<string>
  /** Returns the key of a new account with plenty of credit, and a budget for each month. */
  openCap(amount: string): Promise<string>
  revoke(key: string): Promise<void>
  close(): Promise<void>
}

const CONTEXT = { requestId: 'exactness', signal: new AbortController().signal }
const PLENTY = '1000000'
const PAGE = 1_000

export function memoryBank({
  memoryCredentials,
  memoryLedger,
  parseCredits,
}: typeof import('compat-router')): Bank {
  const credentials = memoryCredentials()
  const ledger = memoryLedger({}, { keepEntries: 100_000 })
  const ids = new Map<string, string>()
  const open = (credit: string, cap?: string): string => {
    const account = randomUUID()
    const key = `key-of-${account}`
    ledger.credit(account, credit)
    const limits =
      cap === undefined
        ? []
        : [{ id: account, unit: 'credits', amount: parseCredits(cap), per: 'month' } as const]
    ids.set(key, credentials.put(key, { kind: 'api-key', account, limits }))
    return key
  }
  return {
    credentials,
    ledger,
    charges: () => chargesIn(ledger),
    openCredit: async (amount) => open(amount),
    openCap: async (amount) => open(PLENTY, amount),
    async revoke(key) {
      credentials.revoke(ids.get(key)!)
    },
    close: async () => undefined,
  }
}

export async function sqliteBank(
  { sqliteStores }: typeof import('compat-router/sqlite'),
  { createAdmin }: typeof import('compat-router/admin'),
  file: string,
): Promise<Bank> {
  const stores = sqliteStores({ file, adapters: {}, secretKeys: [] })
  const admin = createAdmin(stores)
  const ids = new Map<string, string>()
  const open = async (credit: string): Promise<{ token: string; credentialId: string }> => {
    const account = randomUUID()
    await admin.accounts.credit({ account, amount: credit })
    const issued = await admin.keys.issue({ account })
    ids.set(issued.token, issued.credentialId)
    return issued
  }
  return {
    credentials: stores.credentials,
    ledger: stores.ledger,
    charges: () => chargesIn(stores.ledger),
    openCredit: async (amount) => (await open(amount)).token,
    async openCap(amount) {
      const { credentialId, token } = await open(PLENTY)
      await admin.limits.put({
        id: credentialId,
        of: 'credential',
        ownerId: credentialId,
        unit: 'credits',
        amount,
        per: 'month',
      })
      return token
    },
    async revoke(key) {
      await admin.keys.revoke(ids.get(key)!)
    },
    close: () => stores.close(),
  }
}

async function chargesIn(ledger: LedgerReader): Promise<readonly bigint[]> {
  const charges: bigint[] = []
  let after: string | undefined
  do {
    const page = await ledger.entries({ limit: PAGE, ...(after === undefined ? {} : { after }) }, CONTEXT)
    for (const { charge } of page.entries)
      if (charge !== undefined && charge.cost > 0n) charges.push(charge.cost)
    after = page.next
  } while (after !== undefined)
  return charges.reverse()
}
