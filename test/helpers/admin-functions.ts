import { createAdmin } from '../../src/admin/index.js'
import type { DurableStores } from '../../src/sqlite/index.js'

/** Every function of administration, with the name that the command line has for it: `connected-apps set-cap`. */
export function adminFunctions(): readonly string[] {
  const admin = createAdmin({ database: {}, secrets: {}, ledger: {} } as unknown as DurableStores)
  return Object.entries(admin).flatMap(([noun, functions]) =>
    Object.keys(functions).map((verb) =>
      `${noun} ${verb}`.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    ),
  )
}
