import { mergeConfig } from 'vitest/config'
import { each, globalSetup } from '../../vitest.config.js'
import { HOLES } from './holes.js'
import { plantedIn } from './planted-in.js'

const hole = HOLES.find(({ name }) => name === process.env.PLANTED_HOLE)
if (hole === undefined) throw new TypeError('PLANTED_HOLE must name a hole.')

export default mergeConfig(each, {
  test: { include: ['test/**/*.test.ts'], globalSetup },
  plugins: [
    {
      name: 'planted-hole',
      enforce: 'pre' as const,
      transform: (code: string, id: string) =>
        id.endsWith(`/${hole.file}`) ? plantedIn(code, hole) : undefined,
    },
  ],
})
