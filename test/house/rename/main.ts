/**
 * Gives things the names of `renames.json`: identifiers with TypeScript's language service, files with git, and words in
 * comments and documents by text. Each row has `old`, `new` and `kind`:
 *
 *   type    a declared name, `PATHS#Name`, which is replaced in every text too
 *   name    declared names, `PATHS#name` or `PATHS#Container.name`
 *   word    a word in every name that is declared under `PATHS`: `PATHS#word`
 *   option  a member that moves into another object of options: `limits.storeMs`
 *   method  a function of administration, in calls of it: `admin.openAccount`
 *   file    a file or a folder
 *   comment text in comments, under the paths `in`; `/pattern/` or whole words
 *   text    text anywhere, under the paths `in`
 *
 * PATHS are beginnings of paths, with commas between them; `*` stands for a name.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Edits } from './edits.js'
import { isText, moveFiles } from './files.js'
import { findDeclared, findWord, rename, withWord } from './names.js'
import { type Move, moveInText, moveOptions } from './options.js'
import { movePlanted } from './planted.js'
import { isIn, Project } from './project.js'
import { inComments, inProse, patternOf } from './text.js'

interface Row {
  readonly kind: 'type' | 'name' | 'word' | 'option' | 'method' | 'file' | 'comment' | 'text'
  readonly old: string
  readonly new: string
  /** Only for `comment` and `text`. */
  readonly in?: string
}

const PLANTED = 'test/planted/holes.ts'
const HOME = 'test/house/rename'

const rows: readonly Row[] = JSON.parse(readFileSync(`${HOME}/renames.json`, 'utf8'))
const of = (kind: Row['kind']) => rows.filter((row) => row.kind === kind)

const project = new Project()
const edits = new Edits()
const seen = new Set<string>()
const warnings: string[] = []
const warn = (text: string) => warnings.push(text)

const moves = of('option').map((row): Move => {
  const [from = '', member = ''] = row.old.split('.')
  return { from, member, to: row.new.split('.')[0]! }
})

for (const row of [...of('type'), ...of('name'), ...of('word')]) {
  const [paths = '', name = ''] = row.old.split('#')
  const found = row.kind === 'word' ? findWord(project, paths, name) : findDeclared(project, row.old)
  if (found.length === 0) warn(`nothing is declared as ${row.old}`)
  for (const [file, node] of found) {
    const plain = node.text.replace(/^#/, '')
    try {
      rename(
        project,
        edits,
        { file, node, to: row.kind === 'word' ? withWord(plain, name, row.new) : row.new },
        seen,
      )
    } catch (error) {
      warn(`${row.old}: ${(error as Error).message}`)
    }
  }
}
if (moves.length > 0) for (const place of moveOptions(project, edits, moves)) warn(`by hand: ${place}`)
for (const place of movePlanted(project, edits, PLANTED)) warn(`no such text: ${place}`)

for (const file of edits.files()) writeFileSync(file, edits.applied(file, project.text(file)))

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file))
const types = of('type').map((row) => [patternOf(row.old.split('#')[1]!), row.new] as const)
const methods = of('method').map((row) => [calledAs(row.old), row.new] as const)
for (const file of files) {
  if (
    !isText(file) ||
    file.startsWith(HOME) ||
    file.startsWith('test/fixtures') ||
    file === 'package-lock.json'
  )
    continue
  const text = readFileSync(file, 'utf8')
  const isCode = /\.tsx?$/.test(file)
  let next = [...types, ...methods].reduce((before, [pattern, to]) => before.replace(pattern, to), text)
  if (moves.length > 0) next = moveInText(next, moves)
  for (const row of [...of('text'), ...of('comment')]) {
    if (!isIn(file, row.in ?? '')) continue
    const change = (part: string) => part.replace(patternOf(row.old), row.new)
    if (row.kind === 'text') next = change(next)
    else if (file.endsWith('.md')) next = inProse(next, change)
    else if (isCode && patternOf(row.old).test(next)) next = inComments(file, next, change)
  }
  if (next !== text) writeFileSync(file, next)
}

moveFiles(new Map(of('file').map((row) => [row.old, row.new])), files)
console.log(warnings.join('\n'))
console.log(`${edits.files().length} files with other names`)

function calledAs(method: string): RegExp {
  return new RegExp(`\\b${method.replace('.', '\\.')}(?=\\()`, 'g')
}
