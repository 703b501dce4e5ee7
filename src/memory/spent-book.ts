import type { CallFacts, Credits, SpentQuery, SpentSums } from '../contracts/index.js'
import { DAY_MS, DaySums } from '../rules/day-sums.js'

/** The sums of all charges, by paying account and by credential. Never forgets one. */
export class SpentBook {
  private readonly accounts = new Map<string, Map<string, DaySums>>()

  add({ account, credentialId }: CallFacts, cost: Credits, now: number): void {
    let credentials = this.accounts.get(account)
    if (credentials === undefined) {
      credentials = new Map()
      this.accounts.set(account, credentials)
    }
    let sums = credentials.get(credentialId)
    if (sums === undefined) {
      sums = new DaySums()
      credentials.set(credentialId, sums)
    }
    sums.add(Math.floor(now / DAY_MS), cost)
  }

  read({ account, credentialId }: SpentQuery, now: number): SpentSums {
    const credentials = this.accounts.get(account)
    if (credentialId !== undefined) return (credentials?.get(credentialId) ?? new DaySums()).at(now)
    const all = [...(credentials?.values() ?? [])].map((sums) => sums.at(now))
    const sum = (name: keyof SpentSums) => all.reduce((total, one) => total + one[name], 0n)
    return { total: sum('total'), today: sum('today'), week: sum('week'), month: sum('month') }
  }
}
