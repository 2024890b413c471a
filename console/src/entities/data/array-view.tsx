import { Tag } from "@/design/facts";
import { count } from "@/design/format";
import { t } from "@/texts/texts";
import { shapeWords, type ArrayData } from "./npy";
import css from "./data-view.module.css";

/** The beginning of an array: its shape, the type of its elements and the first values. */
export function ArrayView({ array }: { readonly array: ArrayData }) {
  const { shape, dtype, fortran, rows, labels, min, max, mean, total, read, shown } = array;
  return (
    <div className={css["table"]} data-testid="array-preview">
      <div className={css["bar"]}>
        <span className={css["summary"]}>
          {shapeWords(shape)} <Tag>{dtype}</Tag> {fortran && <Tag>{t("Fortran order")}</Tag>}
        </span>
      </div>
      {min !== undefined && (
        <p className={css["muted"]}>
          {t("Min {min}, max {max}, mean {mean}", { min, max, mean })}
          {read < total && ` ${t("of the first {count} values", { count: count(read) })}`}
        </p>
      )}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard */}
      <div className={css["grid"]} tabIndex={0} role="group" aria-label={t("Values")}>
        {/* eslint-disable-next-line no-restricted-syntax -- the numbers of an array have no headers */}
        <table>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                <th scope="row">{labels[at]}</th>
                {row.map((cell, column) => (
                  <td key={column} className={cell.none ? css["none"] : cell.number ? css["number"] : undefined}>
                    {cell.text}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown < total && (
        <p className={css["muted"]}>
          {t("{shown} of {total} values.", { shown: count(shown), total: count(total) })}
        </p>
      )}
    </div>
  );
}
