import { describe, expect, it } from 'vitest'
import { appNameFault, appNameKey, appNameWords } from '../../src/admin/app-names.js'

describe('the name of an app that users can connect', () => {
  it.each([
    'Notes',
    'Notes 2',
    'Bücher & mehr',
    'Заметки',
    '日本語ノート',
    '日本語 AI',
    '한국어 노트',
    'Σημειώσεις',
    'ملاحظات',
    'नोट्स',
    'โน้ต',
    'Łódź',
    '2048',
    'x'.repeat(40),
  ])('%s is accepted', (name) => {
    expect(appNameFault(name)).toBeUndefined()
  })

  it.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['has 41 characters', 'x'.repeat(41)],
    ['begins with a space', ' Notes'],
    ['has a control character', 'No\u0007tes'],
    ['has a line break', 'No\ntes'],
    ['has a mark of writing direction', 'No\u202etes'],
    ['has a joiner of no width', 'No\u200dtes'],
    ['has a space of no width', 'No\ufefftes'],
    ['has a soft hyphen', 'No\u00adtes'],
    ['has a filler', 'No\u3164tes'],
    ['is not NFKC', 'Ｎotes'],
    ['has a lone surrogate', 'No\ud800tes'],
    ['has only punctuation', '…!'],
    ['has a Cyrillic letter among Latin ones', 'Nоtes'],
    ['has small capitals', 'ᴀᴄᴍᴇ'],
    ['has letters of phonetics', 'ɑcme'],
    ['has letters of a script that imitates Latin', 'ᎪᏟᎷᎬ'],
    ['has marks that cover other lines', `N${'\u0330'.repeat(4)}otes`],
  ])('is refused if it %s', (_, name) => {
    expect(appNameFault(name)).toEqual(expect.any(String))
  })

  it.each([
    ['Notes', 'NOTES'],
    ['Notes', 'N o t e s'],
    ['Notes', 'Nötes'],
    ['Notes', 'Nоtes'],
    ['Notes', 'N0tes'],
    ['PayPal', 'PayPaI'],
    ['Modern', 'Modem'],
    ['apple', 'аррӏе'],
    ['Notes', 'Nøtes'],
    ['Atlas', 'Atła5'],
    ['Draft', 'Đraƒŧ'],
    ['Pilot', 'ƿǀƖoƭ'],
    ['Vivid', 'Vi-v1d'],
    ['Rabbit', 'ƦaƁƀit'],
    ['Never', 'ŋeʋɇr'],
    ['Canoe', 'ȼȺnƟe'],
    ['Oil', '〇丨l'],
    ['Ooo', 'ᄋ口ロ'],
    ['2048', 'ƻ〇48'],
    ['🅰cme', 'Acme'],
    ['🅐cme', 'acme'],
    ['🇦cme', 'Acme'],
    ['🅽🅞🇹es', 'Notes'],
    ['Studio ❶➁➌⓸', 'Studio 1234'],
    ['Studio ⓿🄋🄌', 'Studio 000'],
  ])('as %s looks like %s', (one, other) => {
    expect(appNameKey(one)).toBe(appNameKey(other))
  })

  it('has the words that its letters in shapes make', () => {
    expect([...appNameWords('🇦cme Support')]).toContain(appNameKey('Acme'))
    expect([...appNameWords('My 🅰🅒me')]).toContain(appNameKey('Acme'))
  })

  it('does not look like a clearly different name', () => {
    expect(appNameKey('Notes')).not.toBe(appNameKey('Note'))
    expect(appNameKey('Notes 2')).not.toBe(appNameKey('Notes 3'))
    expect(appNameKey('日本')).not.toBe(appNameKey('日木'))
  })
})
