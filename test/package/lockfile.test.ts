import { describe, expect, it } from 'vitest'
import lockfile from '../../package-lock.json' with { type: 'json' }

const packages: Readonly<Record<string, { optionalDependencies?: Readonly<Record<string, string>> }>> =
  lockfile.packages

describe('package-lock.json', () => {
  // npm 11.19 refuses `npm ci` otherwise; npm leaves them out where it could not find them when it wrote the file.
  it('lists the packages of every platform, so that npm ci works on each', () => {
    const missing = Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${folder}/node_modules/${name}` in packages),
      ),
    )
    expect(missing).toEqual([])
  })
})
