import { dayOf } from '../base/format.js'
import { hrefOf } from '../base/place.js'

export function spendSince(from: number): string {
  return hrefOf('spend', { by: 'model', fromDay: dayOf(from), zone: 'UTC' })
}

export function problemsSince(from: number, outcome?: string): string {
  return hrefOf('calls', { view: 'problems', fromDay: dayOf(from), zone: 'UTC', outcome })
}
