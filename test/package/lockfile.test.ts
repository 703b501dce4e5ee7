import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'

interface Lockfile {
  readonly packages: Readonly<Record<string, { optionalDependencies?: Readonly<Record<string, string>> }>>
}

const text = await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8')
const { packages } = JSON.parse(text) as Lockfile

describe('package-lock.json', () => {
  // Otherwise npm 11.19 refuses `npm ci`. npm leaves these out if it did not find them when it wrote the
  // file.
  it('lists the packages of every platform, so that npm ci works everywhere', () => {
    const missing = Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${folder}/node_modules/${name}` in packages),
      ),
    )
    expect(missing).toEqual([])
  })
})
