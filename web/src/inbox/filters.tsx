/** The list filters: the four most used as a segmented control, the others in a menu. */

import { Button, Menu, SegmentedControl } from "@mantine/core";

import { Down } from "../icons";
import { FILTERS, type Filter } from "../live/filters";
import { texts } from "../texts";
import styles from "./inbox.module.css";

const AT_HAND = FILTERS.slice(0, 4);
const OTHERS = FILTERS.slice(4);
const CHOICES = AT_HAND.map((value) => ({ value, label: texts.list.filters[value] }));

export function Filters({ chosen, onChoose }: { readonly chosen: Filter; readonly onChoose: (filter: Filter) => void }) {
  const isOther = OTHERS.includes(chosen);
  return (
    <div className={styles["filterLine"]}>
      <SegmentedControl
        fullWidth
        size="xs"
        radius="md"
        data={CHOICES}
        value={isOther ? "" : chosen}
        onChange={(value) => onChoose(value as Filter)}
        aria-label={texts.list.filtersLabel}
        transitionDuration={0}
      />
      <Menu position="bottom-end" withinPortal={false} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <Button
            className={styles["moreFilters"]}
            size="compact-xs"
            variant={isOther ? "light" : "default"}
            rightSection={<Down size={13} />}
            title={texts.list.moreFiltersLabel}
          >
            {isOther ? texts.list.filters[chosen] : texts.list.moreFilters}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {OTHERS.map((filter) => (
            <Menu.Item key={filter} onClick={() => onChoose(filter)} aria-current={filter === chosen || undefined}>
              {texts.list.filters[filter]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}
