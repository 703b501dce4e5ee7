import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Moves files with git, and follows them in every import and every path in text. */
export function moveFiles(moves: ReadonlyMap<string, string>, files: readonly string[]): void {
  if (moves.size === 0) return
  const moved = new Map<string, string>()
  for (const file of files) {
    const [from, to] = [...moves].find(([start]) => file === start || file.startsWith(`${start}/`)) ?? []
    if (from !== undefined && to !== undefined) moved.set(file, to + file.slice(from.length))
  }
  for (const file of files) {
    if (!isText(file)) continue
    const text = readFileSync(file, 'utf8')
    const home = moved.get(file) ?? file
    let next = /\.(ts|tsx|mjs|js)$/.test(file)
      ? withImports(text, file, home, moved)
      : withLinks(text, file, home, moved)
    for (const [from, to] of moves)
      next = next.replaceAll(new RegExp(`(?<![\\w/.-])${escaped(from)}(?![\\w-])`, 'g'), to)
    if (next !== text) writeFileSync(file, next)
  }
  for (const [from, to] of moved) {
    if (!existsSync(from)) continue
    mkdirSync(dirname(to), { recursive: true })
    execFileSync('git', ['mv', from, to])
  }
}

export function isText(file: string): boolean {
  return /\.(ts|tsx|mjs|js|md|json|css|html|svg|yml)$/.test(file) || file.startsWith('.ci/')
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Import specifiers, `new URL('./x.js', import.meta.url)`, and paths that tests join. */
function withImports(text: string, file: string, home: string, moved: ReadonlyMap<string, string>): string {
  return text.replace(/(?<=['"`])\.{1,2}\/[\w./-]+(?=['"`])/g, (specifier) => {
    const target = join(dirname(file), specifier)
    for (const [written, real] of [
      ['.js', '.ts'],
      ['.js', '.tsx'],
      ['', '.ts'],
      ['', ''],
    ] as const) {
      if (!target.endsWith(written)) continue
      const source = target.slice(0, target.length - written.length) + real
      if (!existsSync(source)) continue
      const now = moved.get(source) ?? source
      if (now === source && home === file) return specifier
      const path = relative(dirname(home), now.slice(0, now.length - real.length) + written)
      return path.startsWith('.') ? path : `./${path}`
    }
    return specifier
  })
}

/** Links of Markdown to files. */
function withLinks(text: string, file: string, home: string, moved: ReadonlyMap<string, string>): string {
  if (!file.endsWith('.md')) return text
  return text.replace(/(?<=\]\()[\w./-]+(?=[)#])/g, (link) => {
    const target = join(dirname(file), link)
    const now = moved.get(target)
    if (now === undefined && home === file) return link
    if (!existsSync(target)) return link
    const path = relative(dirname(home), now ?? target)
    return link.startsWith('./') ? `./${path}` : path
  })
}
