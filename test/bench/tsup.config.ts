import { defineConfig } from 'tsup'

/** The processes of the bench run as plain Node: a loader would be measured with them. */
export default defineConfig({
  entry: {
    bench: 'test/bench/bench.ts',
    gate: 'test/bench/gate.ts',
    tables: 'test/bench/tables.ts',
    growth: 'test/bench/growth.ts',
    soak: 'test/bench/soak.ts',
    processes: 'test/bench/processes.ts',
    hosts: 'test/bench/hosts.ts',
    'web-host': 'test/bench/programs/web-host.ts',
    upstream: 'test/bench/programs/upstream.ts',
    system: 'test/bench/programs/system.ts',
    counted: 'test/bench/programs/counted.ts',
    watched: 'test/bench/programs/watched.ts',
    stored: 'test/bench/programs/stored.ts',
    open: 'test/bench/open.ts',
    'open-load': 'test/bench/programs/open-load.ts',
    load: 'test/bench/programs/load.ts',
    'ledger-pairs': 'test/bench/programs/ledger-pairs.ts',
    'ledger-process': 'test/bench/programs/ledger-process.ts',
    'router-under-test': 'test/bench/lib/router-under-test.ts',
    loopback: 'test/bench/programs/loopback.ts',
  },
  outDir: 'test/bench/.programs',
  format: ['esm'],
  target: 'node20',
  clean: true,
  skipNodeModulesBundle: true,
})
