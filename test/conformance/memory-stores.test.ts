import { describe, it } from 'vitest'
import { cachedCatalogue, cachedCredentials } from '../../src/cache/index.js'
import {
  memoryCalls,
  memoryCatalogue,
  memoryCredentials,
  memoryIdempotency,
  memoryProviders,
} from '../../src/memory/index.js'
import {
  callCases,
  catalogueCases,
  credentialCases,
  idempotencyCases,
  registryCases,
} from '../../src/testing/index.js'
import { createManualClock } from './manual-clock.js'

describe('memory credentials', () => {
  for (const { id, name, run } of credentialCases) {
    it(`${id}: ${name}`, () =>
      run({
        open(tokens) {
          const store = memoryCredentials(tokens)
          return { store, revoke: store.revoke }
        },
      }))
  }
})

describe('cached memory credentials', () => {
  for (const { id, name, run } of credentialCases) {
    it(`${id}: ${name}`, () =>
      run({
        open(tokens) {
          const inner = memoryCredentials(tokens)
          const store = cachedCredentials(inner)
          return { store, revoke: inner.revoke, close: store.close }
        },
      }))
  }
})

describe('memory calls', () => {
  for (const { id, name, run } of callCases) {
    it(`${id}: ${name}`, () => run({ open: () => memoryCalls() }))
  }
})

describe('memory catalogue', () => {
  for (const { id, name, run } of catalogueCases) {
    it(`${id}: ${name}`, () =>
      run({
        open(models) {
          const store = memoryCatalogue(models)
          return { store, put: store.put, remove: store.remove }
        },
      }))
  }
})

describe('cached memory catalogue', () => {
  for (const { id, name, run } of catalogueCases) {
    it(`${id}: ${name}`, () =>
      run({
        open(models) {
          const inner = memoryCatalogue(models)
          const store = cachedCatalogue(inner)
          return { store, put: inner.put, remove: inner.remove, close: store.close }
        },
      }))
  }
})

describe('memory providers', () => {
  for (const { id, name, run } of registryCases) {
    it(`${id}: ${name}`, () => run({ open: (providers) => memoryProviders(providers) }))
  }
})

describe('memory idempotency with a manual clock', () => {
  for (const { id, name, run } of idempotencyCases) {
    it(`${id}: ${name}`, () =>
      run({
        open() {
          const clock = createManualClock()
          return { store: memoryIdempotency({ clock }), advance: clock.advance }
        },
      }))
  }
})

describe('memory idempotency in real time', () => {
  for (const { id, name, run } of idempotencyCases) {
    it(`${id}: ${name}`, () => run({ open: () => memoryIdempotency() }))
  }
})
