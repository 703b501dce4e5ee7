import { ownZone } from '../base/format.js'
import { changeQuery, type Place } from '../base/place.js'
import { Choice } from './basics.js'
import { RANGES, rangeQueryOf } from './steps.js'

/** Chooses how long a time a chart shows, and the time zone of its days. */
export function RangeChoice({ query }: { query: Place['query'] }) {
  const { range, fromDay, toDay, zone } = rangeQueryOf(query)
  const hasDays = Boolean(fromDay) || Boolean(toDay)
  return (
    <>
      <Choice
        label="Time"
        options={RANGES}
        value={hasDays ? undefined : range}
        onChange={(value) =>
          changeQuery({ range: value, fromDay: undefined, toDay: undefined, at: undefined })
        }
      />
      {ownZone() !== 'UTC' && (
        <Choice
          label="Time zone"
          options={[
            { value: ownZone(), label: ownZone() },
            { value: 'UTC', label: 'UTC' },
          ]}
          value={zone}
          onChange={(value) => changeQuery({ zone: value === 'UTC' ? value : undefined })}
        />
      )}
    </>
  )
}
