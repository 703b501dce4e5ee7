import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { askDatabases } from '../../helpers/ask-databases.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const MAX_BYTES = 150_000
const MAX_LINES = 310

function filesIn(folder: string): readonly { readonly name: string; readonly text: string }[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ name, text: readFileSync(join(parentPath, name), 'utf8') }))
}

describe("the console's built pages", () => {
  beforeAll(() => askDatabases(inject('databases'), '/console'), 120_000)

  it(`are at most ${MAX_BYTES / 1_000} kB in total, compressed`, () => {
    const bytes = filesIn('dist/console').map(({ text }) => gzipSync(text).length)
    expect(bytes.length).toBeGreaterThan(2)
    expect(bytes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(MAX_BYTES)
  })

  it('have no inline script or style, and load nothing from elsewhere', () => {
    const page = filesIn('dist/console').find(({ name }) => name === 'index.html')!.text
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc="\.\/)/)
    expect([...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, to]) => to)).not.toContainEqual(
      expect.stringMatching(/^(?:https?:)?\/\//),
    )
    const styles = filesIn('dist/console').filter(({ name }) => name.endsWith('.css'))
    expect(styles.length).toBeGreaterThan(0)
    for (const { text } of styles) expect(text).not.toMatch(/@import|url\((?!data:)/)
  })
})

describe("the source of the console's pages", () => {
  const files = filesIn('src/console/ui')
  const code = files.filter(({ name }) => /\.tsx?$/.test(name))

  it('is found by this test', () => {
    expect(code.length).toBeGreaterThan(30)
  })

  it.each(code)('$name inserts text only as text', ({ text }) => {
    expect(text).not.toMatch(
      /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|new Function/,
    )
  })

  it.each(code)(
    '$name adds up no money, and keeps no secret in a store that outlives the page',
    ({ text }) => {
      expect(text).not.toMatch(/parseFloat|localStorage|sessionStorage|indexedDB|document\.cookie/)
    },
  )

  it.each(files)('$name is about one thing: at most 310 lines', ({ name, text }) => {
    if (name.endsWith('.css')) return
    expect(text.split('\n').length).toBeLessThanOrEqual(MAX_LINES)
  })
})
