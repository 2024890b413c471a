import type { Use } from "@gen/flytebinary/insight/v1/health_pb.js";
import { language } from "@/texts/language";
import { count, fixed } from "@/texts/texts";

/** The least amount of money that is shown as such. */
const least = 0.0001;

/** An amount of money: with the sign of a known currency, otherwise with its name. Small amounts have more digits. */
export function money(amount: number, currency: string): string {
  if (amount > 0 && amount < least) return `< ${money(least, currency)}`;
  const digits = amount > 0 && amount < 0.1 ? 4 : 2;
  try {
    return new Intl.NumberFormat(language, { style: "currency", currency, minimumFractionDigits: 2, maximumFractionDigits: digits }).format(amount);
  } catch {
    return `${fixed(amount, digits)} ${currency}`;
  }
}

const precise = new Intl.NumberFormat(language, { minimumSignificantDigits: 2, maximumSignificantDigits: 2 });

/** Hours of something, with as many digits as say something. */
export const hours = (n: number): string => (n >= 100 ? count(Math.round(n)) : n >= 1 ? fixed(n, 1) : n === 0 ? "0" : n < 0.001 ? `< ${fixed(0.001, 3)}` : precise.format(n));

/** Hours of processors, memory and GPUs; without those of processors where the text next to it has them. */
export const hoursOf = ({ coreHours, gibHours, gpuHours }: Use, cores = true): string =>
  [cores && `${hours(coreHours)} core-h`, `${hours(gibHours)} GiB-h`, gpuHours > 0 && `${hours(gpuHours)} GPU-h`].filter(Boolean).join(", ");

/** What use costs, or its hours where there are no prices. */
export const costOf = (use: Use, currency: string): string => (currency === "" ? `${hours(use.coreHours)} core-h` : money(use.cost, currency));

/** A change against something, as "+12 %"; undefined if there is nothing to compare with. */
export function changed(now: number, before: number): string | undefined {
  if (before <= 0) return undefined;
  return change(now / before - 1);
}

/** A relative change, as "+12 %". Beyond a factor of ten it is a factor. */
export function change(by: number): string {
  if (by >= 9) return `× ${Math.round(by + 1)}`;
  const rounded = Math.round(by * 100);
  return rounded === 0 ? "± 0 %" : `${rounded > 0 ? "+" : "−"}${Math.abs(rounded)} %`;
}

/** A share; one decimal below 10 %, where the difference between 0.4 and 1.4 matters. */
export const percent = (share: number): string => `${share > 0 && share < 0.1 ? fixed(share * 100, 1) : Math.round(share * 100)} %`;
