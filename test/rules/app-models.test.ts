import { describe, expect, it } from 'vitest'
import { commonModels, includesModel, includesModels } from '../../src/rules/app-models.js'

describe('the models of an app', () => {
  it('are those of its list, or every one, and never a part of the word that says so', () => {
    expect([includesModel(['a'], 'a'), includesModel(['a'], 'b'), includesModel([], 'a')]).toEqual([
      true,
      false,
      false,
    ])
    expect([includesModel('all', 'later'), includesModel(['all'], 'al')]).toEqual([true, false])
  })

  it('of a list never include all, even if the list has each model of today', () => {
    expect([includesModels('all', ['a']), includesModels('all', 'all')]).toEqual([true, true])
    expect([includesModels(['a'], 'all'), includesModels(['all'], 'all')]).toEqual([false, false])
    expect([includesModels(['a', 'b'], ['b']), includesModels(['a'], ['b'])]).toEqual([true, false])
  })

  it('that two lists share are never more than either', () => {
    expect(commonModels('all', 'all')).toBe('all')
    expect([commonModels('all', ['a']), commonModels(['a'], 'all')]).toEqual([['a'], ['a']])
    expect(commonModels(['a', 'b'], ['b', 'c'])).toEqual(['b'])
  })
})
